"""Optimise: a problem on a model, how its cycles are dealt with, and what solves it."""

from couplax.optimise._idf import IDF as IDF
from couplax.optimise._ipopt import IPOPT as IPOPT
from couplax.optimise._mdf import MDF as MDF
from couplax.optimise._minimise import minimise as minimise
from couplax.optimise._optimum import Optimum as Optimum
from couplax.optimise._quasi_newton import BFGS as BFGS
from couplax.optimise._quasi_newton import LBFGS as LBFGS
from couplax.optimise._sand import SAND as SAND
from couplax.optimise._slsqp import SLSQP as SLSQP
from couplax.optimise._trust_constr import TrustConstr as TrustConstr
