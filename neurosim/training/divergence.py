"""What training says when a number is no longer one."""

from pathlib import Path

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree

from .checkpoint import read_checkpoint_header
from .trainable import leaf_names
from .update_rule import UpdateInfo


class TrainingDiverged(ArithmeticError):
    """A loss, a gradient or a parameter stopped being finite, or the update rule gave up.

    - `step`: the update, counted from 1, at which it did.
    - `quantity`: what did; or the rule's reason, as a sentence.
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
    step: int,
    quantity: str,
    *,
    last: Path | None,
    members: tuple[int, ...],
    throw: bool,
    by_rule: bool = False,
) -> TrainingDiverged:
    """The error that names step, quantity, members and the last good checkpoint.

    **Arguments:**

    - `last`: where the last checkpoint would be.
    - `members`: of an ensemble, the members that diverged.
    - `throw`: whether the others were stopped on purpose.
    - `by_rule`: whether `quantity` is the update rule's own reason.
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
        f"Training diverged at step {step}{who}: {quantity}{'' if by_rule else ' is not finite'}. "
        f"{where}",
        step=step,
        quantity=quantity,
        checkpoint=checkpoint,
        members=members,
    )


def quantities(params: PyTree) -> list[str]:
    """The name of each flag of `failed_flags`, before those of the update rule."""
    names = leaf_names(params)
    return [
        "the loss",
        *(f"the gradient of {name}" for name in names),
        *(f"the parameter {name}" for name in names),
    ]


def failed_flags(info: UpdateInfo, params: PyTree) -> Bool[Array, " quantity"]:
    """What ends a run after an update: which of loss, gradients (leaf by leaf) and parameters (leaf
    by leaf) are not finite, and what the update rule found.

    A rule that rejected the update has looked at these numbers itself.
    """
    after = [_not_finite(leaf) for leaf in jax.tree.leaves(params)]
    if info.gradient is None:
        before = [jnp.zeros((), bool)] * len(after)
    else:
        before = [_not_finite(leaf) for leaf in jax.tree.leaves(info.gradient)]
    numbers = jnp.stack([_not_finite(info.loss), *before, *after]) & ~jnp.asarray(info.rejected)
    return jnp.concatenate([numbers, jnp.asarray(info.failed, bool)])


def _not_finite(x: Array) -> Bool[Array, ""]:
    return ~jnp.all(jnp.isfinite(x))
