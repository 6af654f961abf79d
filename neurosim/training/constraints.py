"""What the weights of a circuit have to obey while it learns.

A constraint is a projection, applied after every update and so kept under every optimiser, weight
decay and momentum included. All of these act on single entries, so that several of them together
project on what satisfies all, in whatever order.
"""

import abc
from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float

Where = Callable[[Any], Any]


class Constraint(eqx.Module):
    """A set of admissible models, with a way in and a way back."""

    @abc.abstractmethod
    def start(self, model: Any) -> Any:
        """An admissible model to start training from. Called once, outside of any trace.

        **Raises:** `ValueError` if the constraint does not fit the model.
        """

    @abc.abstractmethod
    def project(self, model: Any, initial: Any) -> Any:
        """The admissible model nearest to `model`; `initial` is the one training started from."""


class DaleLaw(Constraint):
    """Each presynaptic neuron excites or inhibits, and does so at all its synapses.

    In a weight matrix `(post, pre)` the first columns are excitatory, the others inhibitory. At
    the start each weight keeps its magnitude and takes its neuron's sign; afterwards a weight that
    would change its sign is held at zero, from where it can grow again.

    **Arguments:**

    - `where`: picks one matrix of the model or a tuple of them.
    - `excitatory`: fraction of excitatory neurons, exact: a fraction that is not a whole number of
      neurons is refused.

    **Reference:** Song, Yang & Wang 2016, PLOS Comput Biol 12:e1004792.
    """

    where: Where = eqx.field(static=True)
    excitatory: float | int = eqx.field(static=True, default=0.8)

    def __check_init__(self):
        if not 0 <= self.excitatory <= 1:
            raise ValueError(f"excitatory must lie between 0 and 1, got {self.excitatory}.")

    def signs(self, n_neurons: int) -> Float[np.ndarray, " pre"]:
        """+1 for each excitatory neuron, then -1 for each inhibitory one."""
        exact = Fraction(repr(float(self.excitatory))) * n_neurons
        n_excitatory = floor(exact + Fraction(1, 2))
        # 1/3 of 30 neurons is 10, although no float is a third.
        if abs(exact - n_excitatory) > Fraction(1, 10**9) * n_neurons:
            below, above = floor(exact), ceil(exact)
            raise ValueError(
                f"An excitatory fraction of {self.excitatory} is {float(exact):g} of {n_neurons} "
                f"neurons, which is not a whole number: the nearest fractions are "
                f"{below}/{n_neurons} = {below / n_neurons:g} and "
                f"{above}/{n_neurons} = {above / n_neurons:g}."
            )
        return np.where(np.arange(n_neurons) < n_excitatory, 1.0, -1.0)

    def start(self, model: Any) -> Any:
        def impose(weight: Array) -> Array:
            if weight.ndim != 2:
                raise ValueError(
                    f"DaleLaw needs a matrix (post, pre), got an array of shape {weight.shape}."
                )
            return jnp.abs(weight) * jnp.asarray(self.signs(weight.shape[1]), weight.dtype)

        return _edit(self.where, model, impose)

    def project(self, model: Any, initial: Any) -> Any:
        def hold(weight: Array) -> Array:
            excites = jnp.asarray(self.signs(weight.shape[1]) > 0)
            return jnp.where(excites == (weight > 0), weight, 0)

        return _edit(self.where, model, hold)


class ConnectivityMask(Constraint):
    """Synapses exist where the mask is `True`, and are zero elsewhere.

    **Arguments:**

    - `where`: picks one array of the model or a tuple of them.
    - `mask`: booleans (or zeros and ones) of the shape of each picked array.
    """

    where: Where = eqx.field(static=True)
    mask: Bool[Array, "..."] = eqx.field(converter=lambda mask: _as_mask(mask))

    def start(self, model: Any) -> Any:
        _edit(self.where, model, lambda weight: _check_mask(self, weight, self.mask))
        return self.project(model, model)

    def project(self, model: Any, initial: Any) -> Any:
        return _edit(self.where, model, lambda weight: jnp.where(self.mask, weight, 0))


class FrozenEntries(Constraint):
    """The entries where the mask is `True` keep their initial values, bit for bit.

    The optimiser still sees their gradients (a clip by global norm counts them).

    **Arguments:** as `ConnectivityMask`.
    """

    where: Where = eqx.field(static=True)
    mask: Bool[Array, "..."] = eqx.field(converter=lambda mask: _as_mask(mask))

    def start(self, model: Any) -> Any:
        return _edit(self.where, model, lambda weight: _check_mask(self, weight, self.mask))

    def project(self, model: Any, initial: Any) -> Any:
        return _edit(
            self.where,
            model,
            lambda weight, first: jnp.where(self.mask, first, weight),
            initial,
        )


class NonNegative(Constraint):
    """No entry is below zero; one that would be is held at zero.

    **Arguments:**

    - `where`: picks one array of the model or a tuple of them.
    """

    where: Where = eqx.field(static=True)

    def start(self, model: Any) -> Any:
        return self.project(model, model)

    def project(self, model: Any, initial: Any) -> Any:
        return _edit(self.where, model, lambda weight: jnp.where(weight > 0, weight, 0))


def project_all(constraints: tuple[Constraint, ...], model: Any, initial: Any) -> Any:
    """Project on each constraint in turn."""
    for constraint in constraints:
        model = constraint.project(model, initial)
    return model


def admissible_start(constraints: tuple[Constraint, ...], model: Any) -> Any:
    """The model that training starts from: `model`, made to satisfy every constraint.

    **Raises:** `ValueError` if a constraint does not fit the model, or two contradict each other
    (a frozen entry of the wrong sign, say).
    """
    started = model
    for constraint in constraints:
        started = constraint.start(started)
    for constraint in constraints:
        # Seen from the given model, not from the started one: a frozen entry moved by another
        # constraint is a contradiction.
        again = constraint.project(started, model)
        if not eqx.tree_equal(again, started):
            name = type(constraint).__name__
            others = [type(c).__name__ for c in constraints if c is not constraint]
            raise ValueError(
                f"{name} cannot be kept together with {' and '.join(others)}: no model near the "
                "given one satisfies them all."
            )
    return started


def _as_mask(mask: ArrayLike) -> Array:
    given = np.asarray(mask)
    if given.dtype != bool and not np.all((given == 0) | (given == 1)):
        raise ValueError("A mask must hold booleans, or zeros and ones.")
    return jnp.asarray(given.astype(bool))


def _check_mask(constraint: Constraint, weight: Array, mask: Array) -> Array:
    if weight.shape != mask.shape:
        raise ValueError(
            f"The mask of {type(constraint).__name__} has shape {mask.shape}, the array it is for "
            f"has shape {weight.shape}."
        )
    return weight


def _edit(where: Where, model: Any, edit: Callable[..., Array], *others: Any) -> Any:
    picked = [_as_tuple(where(tree)) for tree in (model, *others)]
    for leaf in picked[0]:
        if not eqx.is_inexact_array(leaf):
            raise ValueError(
                "A constraint's `where` must pick floating-point arrays of the model, got "
                f"{type(leaf).__name__}."
            )
    edited = [edit(*leaves) for leaves in zip(*picked)]
    return eqx.tree_at(lambda tree: _as_tuple(where(tree)), model, tuple(edited))


def _as_tuple(picked: Any) -> tuple[Any, ...]:
    return tuple(picked) if isinstance(picked, (tuple, list)) else (picked,)
