"""ONNX Runtime in a process of its own, which asks this one for the operators that foreign codes supply.

In one process with JAX it does not do: the package that runs operators in Python ends the process where one
raises, and where one is made known after a session was.
"""

from couplax.export._session._operator import Operator as Operator
from couplax.export._session._session import Session as Session
