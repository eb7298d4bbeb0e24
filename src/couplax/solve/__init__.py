"""Solve: from a graph and solvers for its cycles to a differentiable JAX function."""

from couplax.solve._about import About as About
from couplax.solve._anderson import Anderson as Anderson
from couplax.solve._bisection import Bisection as Bisection
from couplax.solve._broyden import Broyden as Broyden
from couplax.solve._closure import Closure as Closure
from couplax.solve._failure import check as check
from couplax.solve._function import Function as Function
from couplax.solve._integrate import Integrate as Integrate
from couplax.solve._integration import Integration as Integration
from couplax.solve._integration import integration as integration
from couplax.solve._newton import Newton as Newton
from couplax.solve._program import Program as Program
from couplax.solve._program import closures_in as closures_in
from couplax.solve._program import evaluate as evaluate
from couplax.solve._program import needed_steps as needed_steps
from couplax.solve._program import program as program
from couplax.solve._results import Results as Results
from couplax.solve._singular import singular_parts as singular_parts
from couplax.solve._solve import Solve as Solve
from couplax.solve._structs import all_faults as all_faults
from couplax.solve._structs import declared as declared
from couplax.solve._structs import inferred as inferred
from couplax.solve._sweeps import GaussSeidel as GaussSeidel
from couplax.solve._sweeps import Jacobi as Jacobi
