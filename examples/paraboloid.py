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


BOUNDS = {"x": (-50.0, 50.0), "y": (-50.0, 50.0)}
START = {"x": 3.0, "y": -4.0}


def main():
    print(model.run(**START))

    lowest = cpx.minimise(model, "f", design=BOUNDS, start=START)
    print(lowest)
    assert abs(lowest["f"] + 82 / 3) < 1e-9

    along = cpx.minimise(model, "f", design=BOUNDS, constraints={"g": 0.0}, start=START)
    print(along)
    assert abs(along["f"] + 27) < 1e-9
    # What the objective would gain by a line that is moved.
    print("multiplier of the line:", along.multipliers["g"])


if __name__ == "__main__":
    main()
