"""The published recursion of a model as a Diffrax solver, and process noise as a Diffrax term."""

from collections.abc import Callable
from typing import Any, ClassVar

import diffrax
import jax
import jax.numpy as jnp
from diffrax import RESULTS


class RecursionTerm(diffrax.AbstractTerm):
    """A vector field that carries the recursion published for it.

    Any Diffrax solver reads it as `dy/dt = vector_field(t, y, args)`; `PublishedStep` takes
    `recursion(t, y, args, dt)` instead; with a `NoiseTerm` beside it, and where there is one,
    `noisy_recursion(t, y, args, dt, increment)`.
    """

    vector_field: Callable[[Any, Any, Any], Any]
    recursion: Callable[[Any, Any, Any, Any], Any]
    noisy_recursion: Callable[[Any, Any, Any, Any, Any], Any] | None = None

    def vf(self, t, y, args):
        return self.vector_field(t, y, args)

    def contr(self, t0, t1, **kwargs):
        return t1 - t0

    def prod(self, vf, control):
        return jax.tree.map(lambda v: control * v, vf)


class NoiseTerm(diffrax.AbstractTerm):
    """Independent noise on every entry of the state: `amplitude(t, y, args) * increment`.

    The increment is drawn before the step and belongs to the whole of it.
    """

    amplitude: Callable[[Any, Any, Any], Any]
    increment: Any

    def vf(self, t, y, args):
        return self.amplitude(t, y, args)

    def contr(self, t0, t1, **kwargs):
        return self.increment

    def prod(self, vf, control):
        return jax.tree.map(jnp.multiply, vf, control)


class PublishedStep(diffrax.AbstractSolver):
    """One application of a model's published recursion a step, of first order in the step.

    Works on a `RecursionTerm`, alone or in a `diffrax.MultiTerm` with a `NoiseTerm` whose
    increment is then handed to the recursion that takes it, or else added at the end of the step,
    as Euler-Maruyama does.
    """

    term_structure: ClassVar = diffrax.AbstractTerm
    interpolation_cls: ClassVar = diffrax.LocalLinearInterpolation

    def order(self, terms):
        return 1

    def strong_order(self, terms):
        return 0.5

    def init(self, terms, t0, t1, y0, args):
        return None

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        del solver_state, made_jump
        term = getattr(terms, "term", terms)  # `diffeqsolve` wraps what it is given
        drift, *noise = term.terms if isinstance(term, diffrax.MultiTerm) else (term,)
        if not isinstance(drift, RecursionTerm):
            raise ValueError(
                "PublishedStep needs a RecursionTerm: the model has no published recursion."
            )
        if noise and drift.noisy_recursion is not None:
            increment = noise[0].contr(t0, t1)
            y1 = drift.noisy_recursion(t0, y0, args, t1 - t0, increment)
        else:
            y1 = drift.recursion(t0, y0, args, t1 - t0)
            for extra in noise:
                kick = extra.vf_prod(t0, y0, args, extra.contr(t0, t1))
                y1 = jax.tree.map(jnp.add, y1, kick)
        return y1, None, {"y0": y0, "y1": y1}, None, RESULTS.successful

    def func(self, terms, t0, y0, args):
        return terms.vf(t0, y0, args)
