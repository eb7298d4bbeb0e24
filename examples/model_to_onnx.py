"""A closed model in one ONNX file: the solver's loop is inside, the file bears the model's names."""

import jax.numpy as jnp
import numpy as np
import onnxruntime

import couplax as cpx


@cpx.component("lift")
def wing(angle, load):
    return 2.0 * jnp.pi * (angle - 0.01 * load)


@cpx.component(cpx.output("load", guess=0.5))
def structure(lift, stiffness):
    return lift / stiffness + 0.05 * jnp.tanh(lift)


model = cpx.Model(wing, structure).close(cpx.Newton(rtol=1e-6, atol=1e-6))
function = model.function(("angle", "stiffness"), ("lift", "load"))

proto = cpx.to_onnx(function, np.float32(0.1), np.float32(2.0))
session = onnxruntime.InferenceSession(proto.SerializeToString())
came = session.run(["lift", "load"], {"angle": np.array(0.1, "f4"), "stiffness": np.array(2.0, "f4")})
print(dict(zip(("lift", "load"), came, strict=True)))
assert np.allclose(came, function(np.float32(0.1), np.float32(2.0)), rtol=1e-6)
