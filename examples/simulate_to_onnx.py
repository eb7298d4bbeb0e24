"""A Diffrax simulation, for a device that runs nothing but ONNX."""

import tempfile
from pathlib import Path

import diffrax
import numpy as np
import onnxruntime

import couplax as cpx


def simulate(y0):
    term = diffrax.ODETerm(lambda t, y, args: -y)
    return diffrax.diffeqsolve(term, diffrax.Euler(), t0=0, t1=1, dt0=0.1, y0=y0).ys[0]


staged = cpx.stage(simulate, np.float32(1.0))
print(staged.summary())

proto = cpx.to_onnx(simulate, np.float32(1.0))
print(cpx.verify(proto, simulate, np.float32(1.0)))

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "simulate.onnx"
    path.write_bytes(proto.SerializeToString())
    session = onnxruntime.InferenceSession(path)  # from here on there is no JAX
    (y1,) = session.run(None, {"y0": np.array(100.0, np.float32)})

print(y1)
assert abs(y1 / 34.867847 - 1) < 1e-6
