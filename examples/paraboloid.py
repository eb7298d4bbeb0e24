"""A paraboloid's lowest point, in the open and along a line."""

import jax

import couplax as cpx

jax.config.update("jax_enable_x64", True)


@cpx.component("f")
def paraboloid(x, y):
    return (x - 3) ** 2 + x * y + (y + 4) ** 2 - 3


@cpx.component("g")
def line(x, y):
    return x + y


model = cpx.Model(paraboloid, line)


def main():
    print(model.run(x=3.0, y=-4.0))


if __name__ == "__main__":
    main()
