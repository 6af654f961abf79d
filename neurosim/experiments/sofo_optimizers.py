"""The optimisers that are compared, each with the grid of rates it is tuned on."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import optax

from ..training import SOFO, HessianFree, fit, fit_force
from .sofo_problems import Problem


class Contender(NamedTuple):
    """An optimiser by name.

    - `title`: for figures.
    - `rates`: the field of the config that holds its grid.
    - `make`: from a rate and a problem to an optimiser for `fit`, or the ridge of `fit_force`.
    - `only`: the one task it is for; `None` for all.
    - `trainer`: `fit` or `fit_force`.
    - `longer`: whether it does the config's `longer` times as many updates as the others.
    """

    title: str
    rates: str
    make: Callable[[float, Problem], Any]
    longer: bool = False
    only: str | None = None
    trainer: Callable[..., Any] = fit


def _sofo(rate: float, problem: Problem) -> Any:
    # As an array, so that one compilation serves the whole grid.
    return SOFO(problem.n_tangents, jnp.asarray(rate), damping=problem.damping)


def _first_order_sofo(rate: float, problem: Problem) -> Any:
    """The slopes alone, along the same tangents."""
    return SOFO(problem.n_tangents, jnp.asarray(rate), damping=problem.damping, power=0.0)


#: The task whose readout alone trains, which is what FORCE can do.
FORCED = "flip_flop_reservoir"

CONTENDERS: dict[str, Contender] = {
    "sofo": Contender("SOFO", "sofo_rates", _sofo),
    "sofo_keep_last": Contender(
        "SOFO with the last direction",
        "sofo_rates",
        lambda rate, problem: SOFO(
            problem.n_tangents, jnp.asarray(rate), damping=problem.damping, keep_last=True
        ),
    ),
    "first_order_sofo": Contender("slopes along tangents", "first_order_rates", _first_order_sofo),
    "adam": Contender("Adam", "adam_rates", lambda rate, problem: optax.adam(rate)),
    "adam_longer": Contender(
        "Adam, more updates", "adam_rates", lambda rate, problem: optax.adam(rate), longer=True
    ),
    "muon": Contender("Muon", "muon_rates", lambda rate, problem: optax.contrib.muon(rate)),
    "force": Contender(
        "FORCE", "force_ridges", lambda rate, problem: rate, only=FORCED, trainer=fit_force
    ),
    "hessian_free": Contender(
        "Hessian-free", "hessian_free_rates", lambda rate, problem: HessianFree(rate)
    ),
}
