"""How a displacement moves a grid code."""

import abc
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float


class RecurrentTransform(eqx.Module):
    """The recurrent part of a path-integrating network, without embedding and readout.

    The input is velocity in sides of the arena per unit of time; over a step it is a displacement
    of `velocity * dt`. Samples of displacement are run with `dt = 1`. The state has no batch axis.
    """

    #: Whether `step` is a recursion that cannot be divided into shorter ones.
    discrete: ClassVar[bool] = False

    @property
    @abc.abstractmethod
    def n_units(self) -> int:
        """Number of units, C."""

    @abc.abstractmethod
    def start(self, r: Float[Array, " unit"]) -> Any:
        """The state of which `r` is the activity."""

    @abc.abstractmethod
    def activity(self, state: Any) -> Float[Array, " unit"]:
        """Activity of the grid cells."""

    @abc.abstractmethod
    def step(self, state: Any, velocity: Any, dt: Any) -> Any:
        """The state one `dt` later, with the velocity, `(2,)`, held."""

    @abc.abstractmethod
    def flow(self, state: Any, velocity: Any) -> Any:
        """The time derivative of the state at a velocity, `(2,)`."""
