"""What training says when a number is no longer one."""

from pathlib import Path

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree

from .checkpoint import read_checkpoint_header
from .trainable import leaf_names


class TrainingDiverged(ArithmeticError):
    """A loss, a gradient or a parameter stopped being finite.

    - `step`: the update, counted from 1, at which it did.
    - `quantity`: what did.
    - `checkpoint`: the last good checkpoint, or `None` if none had been written.
    - `members`: of an ensemble, the members that did; else `()`.
    """

    def __init__(
        self,
        message: str,
        *,
        step: int,
        quantity: str,
        checkpoint: Path | None,
        members: tuple[int, ...] = (),
    ):
        super().__init__(message)
        self.step = step
        self.quantity = quantity
        self.checkpoint = checkpoint
        self.members = members


def diverged(
    step: int, quantity: str, *, last: Path | None, members: tuple[int, ...], throw: bool
) -> TrainingDiverged:
    """The error that names step, quantity, members and the last good checkpoint.

    **Arguments:**

    - `last`: where the last checkpoint would be.
    - `members`: of an ensemble, the members that diverged.
    - `throw`: whether the others were stopped on purpose.
    """
    checkpoint = None
    where = "No checkpoint had been written."
    if last is not None and last.exists():
        checkpoint = last
        at = read_checkpoint_header(checkpoint)["step"]
        where = f"The last good checkpoint is {checkpoint} (step {at})."
    who = ""
    if members:
        who = f" in member {members[0]}" if len(members) == 1 else f" in members {members}"
        if throw:
            where += " With throw=False the other members go on."
    return TrainingDiverged(
        f"Training diverged at step {step}{who}: {quantity} is not finite. {where}",
        step=step,
        quantity=quantity,
        checkpoint=checkpoint,
        members=members,
    )


def quantities(params: PyTree) -> list[str]:
    """The name of each flag of `failed_flags`."""
    names = leaf_names(params)
    return [
        "the loss",
        *(f"the gradient of {name}" for name in names),
        *(f"the parameter {name}" for name in names),
    ]


def failed_flags(loss: Array, gradient: PyTree, params: PyTree) -> Bool[Array, " quantity"]:
    """Which of loss, gradients (leaf by leaf) and parameters (leaf by leaf) are not finite."""
    after = [_not_finite(leaf) for leaf in jax.tree.leaves(params)]
    if gradient is None:
        before = [jnp.zeros((), bool)] * len(after)
    else:
        before = [_not_finite(leaf) for leaf in jax.tree.leaves(gradient)]
    return jnp.stack([_not_finite(loss), *before, *after])


def _not_finite(x: Array) -> Bool[Array, ""]:
    return ~jnp.all(jnp.isfinite(x))
