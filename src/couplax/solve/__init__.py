"""Solve: from a graph and solvers for its cycles to a differentiable JAX function."""

from couplax.solve._closure import Closure as Closure
from couplax.solve._failure import check as check
from couplax.solve._function import Function as Function
from couplax.solve._newton import Newton as Newton
from couplax.solve._program import Program as Program
from couplax.solve._program import evaluate as evaluate
from couplax.solve._program import needed_steps as needed_steps
from couplax.solve._program import program as program
from couplax.solve._results import Results as Results
from couplax.solve._solve import Solve as Solve
