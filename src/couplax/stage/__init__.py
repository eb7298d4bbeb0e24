"""Staging: from a JAX function to a jaxpr of JAX's own operations that depends on its inputs alone."""

from couplax.stage._finalise import FINALISE_RULES as FINALISE_RULES
from couplax.stage._finalise import FinaliseContext as FinaliseContext
from couplax.stage._finalise import finalise as finalise
from couplax.stage._finalise import finalise_rule as finalise_rule
from couplax.stage._interpret import Value as Value
from couplax.stage._interpret import bind as bind
from couplax.stage._interpret import count_equations as count_equations
from couplax.stage._interpret import interpret as interpret
from couplax.stage._interpret import is_known as is_known
from couplax.stage._interpret import trace as trace
from couplax.stage._known import Budget as Budget
from couplax.stage._simplify import simplify as simplify
from couplax.stage._specialise import specialise as specialise
from couplax.stage._staged import Staged as Staged
from couplax.stage._staged import stage as stage

# `couplax.stage` is the function once `import couplax` has run: the table is reached through it too.
stage.finalise_rule = finalise_rule  # pyright: ignore[reportFunctionMemberAccess]  # an attribute for users
