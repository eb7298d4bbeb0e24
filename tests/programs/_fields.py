"""The differential equations that several families solve."""

from typing import Any

import jax.numpy as jnp
import numpy as np

LORENZ = np.array([1.0, 2.0, 3.0])
ROBERTSON = np.array([1.0, 0.0, 0.0])
RATES = np.array([0.04, 1e4, 3e7])


def decay(t: Any, y: Any, args: Any) -> Any:
    """Returns -y."""
    return -y


def growth(t: Any, y: Any, args: Any) -> Any:
    """Returns the logistic rate `args y (1 - y)`."""
    return args * y * (1 - y)


def lorenz(t: Any, y: Any, args: Any) -> Any:
    """Returns the right-hand side of Lorenz (1963), eq. 25-27."""
    return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


def pendulum(t: Any, y: Any, args: Any) -> Any:
    """Returns the rate of (angle, speed) of a damped pendulum; `args`: the damping."""
    return jnp.stack([y[1], -jnp.sin(y[0]) - args * y[1]])


def van_der_pol(t: Any, y: Any, args: Any) -> Any:
    """Returns the rate of van der Pol's oscillator; `args`: its stiffness."""
    return jnp.stack([y[1], args * (1 - y[0] ** 2) * y[1] - y[0]])


def robertson(t: Any, y: Any, args: Any) -> Any:
    """Returns the rate of Robertson's reactions (1966); `args`: their three constants."""
    first, second, third = args[0] * y[0], args[1] * y[1] * y[2], args[2] * y[1] ** 2
    return jnp.stack([-first + second, first - second - third, third])
