"""Means over a logging interval, wherever the run was cut within it."""

from typing import Any

import numpy as np

from .validation import plain

Series = dict[str, np.ndarray]


def joined(pending: Series, new: Series) -> Series:
    """The quantities of an unfinished interval, with those of more steps behind them."""
    if not pending:
        return new
    return {name: np.concatenate([pending[name], new[name]], axis=-1) for name in new}


def interval_record(
    losses: np.ndarray, pending: Series, done: int
) -> tuple[dict[str, Any], np.ndarray]:
    """The record of the interval that ends after `done` steps, and its mean loss.

    A step whose trials asked for nothing has a loss that means nothing, 0 most often: it does not
    count in the mean, which is NaN where no step of the interval asked.

    **Arguments:**

    - `losses`: `(..., done)`, of the whole run.
    - `pending`: what the steps of the interval emitted beside the loss, `(..., step)` each.
    """
    asked = pending["asked"]
    within = losses[..., losses.shape[-1] - asked.shape[-1] :]
    # In double precision and contiguous, so that the mean does not depend on how NumPy adds.
    total = np.sum(np.where(asked, within, 0).astype(np.float64), axis=-1)
    n_asked = np.sum(asked, axis=-1)
    loss = np.where(n_asked > 0, total / np.maximum(n_asked, 1), np.nan)
    record = {"step": done, "loss": plain(loss)}
    for name, values in pending.items():
        if name != "asked":
            mean = np.mean(np.ascontiguousarray(values, np.float64), axis=-1)
            record[name] = plain(np.asarray(mean))
    return record, loss
