"""Which environment an animal is in, and where, from spike counts."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..kernels import check_dt
from .activity import as_floating
from .position_decoding import log_rates, read_counts, read_decoding_maps


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DecodedContext:
    """Context and position decoded in each window; see `decode_context`.

    - `contexts`: names of the contexts, in the order of the columns.
    - `posterior`: `(window, context)`, sums to 1.
    - `log_evidence`: `(window, context)`, log probability of the counts in each context, positions
      summed over, up to a constant in each window; differences are log odds for equal priors.
    - `best`: `(window,)`, place of the most probable context.
    - `joint`: for each context `(window, *bins)`, probability of being there at that position; over
      all contexts it sums to 1.
    """

    contexts: tuple[Any, ...]
    posterior: np.ndarray
    log_evidence: np.ndarray
    best: np.ndarray
    joint: tuple[np.ndarray, ...]

    def __repr__(self) -> str:
        return f"DecodedContext({len(self.posterior)} windows, contexts {list(self.contexts)})"


def decode_context(
    counts: Any, maps: Any, dt: Any, *, prior: Any = None, floor: Any = 1e-3
) -> DecodedContext:
    """The posterior of context and position given spike counts, windows on their own.

    Within a context all visited bins have the same prior probability. The evidence for a context
    is the mean likelihood over its bins, so that a larger map is not the more probable for it.

    **Arguments:**

    - `counts`: `(window, cell)`, spikes of each cell.
    - `maps`: for each context the maps of the same cells, `RateMaps` or `(cell, *bins)` in Hz; a
        list, or a mapping from names. Maps may differ in their bins.
    - `dt`: length of a window in s.
    - `prior`: `(context,)`, not negative; by default all contexts have the same.
    - `floor`: rates below are raised to it, in Hz.

    **Returns:** `DecodedContext`.

    **Raises:** `ValueError` as `decode_position`; for fewer than two contexts, or maps of another
    number of cells.

    **Reference:** Jezek, Henriksen, Treves, Moser & Moser (2011), Nature 478, 246-249, for telling
    contexts from counts.
    """
    width = check_dt(dt)
    names, given = _named(maps)
    read = [read_decoding_maps(m) for m in given]
    n_cells = {len(rates) for rates, _, _ in read}
    if len(read) < 2 or len(n_cells) != 1:
        raise ValueError(
            f"maps must hold two contexts at least, of the same cells; got {len(read)}, with "
            f"{sorted(n_cells)} cells."
        )
    n = read_counts(counts, n_cells.pop())
    log_prior = _log_prior(prior, len(read))
    log_p = []
    for rates, _, valid in read:
        log_f, silence = log_rates(rates[:, valid], width, floor)
        log_p.append(n @ log_f - silence - np.log(valid.sum()))
    top = np.max([p.max(axis=1) for p in log_p], axis=0)[:, None]
    evidence = np.stack([_log_sum(p) for p in log_p], axis=1)
    weighted = evidence + log_prior
    total = _log_sum(weighted)[:, None]
    joint = []
    for k, (_, bins, valid) in enumerate(read):
        p = np.zeros((len(n), len(valid)))
        p[:, valid] = np.exp(log_p[k] + log_prior[k] - total)
        joint.append(p.reshape(len(n), *bins.shape))
    posterior = np.exp(weighted - total)
    return DecodedContext(names, posterior, evidence - top, posterior.argmax(axis=1), tuple(joint))


def _named(maps: Any) -> tuple[tuple[Any, ...], list[Any]]:
    if isinstance(maps, Mapping):
        return tuple(maps), list(maps.values())
    if not isinstance(maps, (list, tuple)):
        raise ValueError(
            f"maps must be a list of the maps of each context, or a mapping; got {type(maps)}."
        )
    return tuple(range(len(maps))), list(maps)


def _log_prior(prior: Any, n_contexts: int) -> np.ndarray:
    weights = np.asarray(
        as_floating(np.ones(n_contexts) if prior is None else prior, "prior"), np.float64
    )
    fine = weights.shape == (n_contexts,) and np.isfinite(weights).all() and (weights >= 0).all()
    if not fine or not weights.any():
        raise ValueError(
            f"prior must be ({n_contexts},), one for each context, finite, not negative and not "
            f"all 0; got {prior}."
        )
    with np.errstate(divide="ignore"):
        return np.log(weights / weights.sum())


def _log_sum(log_p: np.ndarray) -> np.ndarray:
    """Logarithm of the sum along each row."""
    top = log_p.max(axis=1)
    return top + np.log(np.sum(np.exp(log_p - top[:, None]), axis=1))
