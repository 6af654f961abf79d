"""How many contexts can be told apart, from the probability that two overlap."""

from typing import Any, Literal

import numpy as np

from .activity import refuse_masked


def log_context_capacity(
    log_overlap: Any,
    *,
    confidence: float | int = 0.95,
    bound: Literal["product", "union"] = "product",
) -> np.ndarray:
    """ln M, the number of contexts that are all separable with a given confidence.

        M = sqrt(2 ln P_M / ln P2 + 1/4) + 1/2            "product", of P_M = P2^(M (M - 1) / 2)
        M = sqrt(2 (1 - P_M) / (1 - P2) + 1/4) + 1/2      "union", which holds without exception

    The probability that two overlap may be far below what float64 can hold: it comes as its
    logarithm, and so does the result.

    **Arguments:**

    - `log_overlap`: ln(1 - P2), of any shape, not above 0; see `log_overlap_probability`.
    - `confidence`: P_M, between 0 and 1.

    **Returns:** ln M, 0 where two always overlap, infinite where they never do.

    **Raises:** `ValueError` for a log probability above 0, a confidence out of range, or another
    bound.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eqs. 12 and 53.
    """
    refuse_masked(log_overlap, "log_overlap")
    p = np.asarray(log_overlap, np.float64)
    if np.isnan(p).any() or (p > 0).any():
        wrong = p[np.isnan(p) | (p > 0)].flat[0]
        raise ValueError(f"log_overlap must be log probabilities, at most 0, not NaN; got {wrong}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}.")
    if bound not in ("product", "union"):
        raise ValueError(f"bound must be 'product' or 'union', got {bound!r}.")
    with np.errstate(divide="ignore", over="ignore"):
        if bound == "union":
            log_share = np.log1p(-confidence) - p
        else:
            # ln(-ln P2), which is ln(1 - P2) to float64 where that is small.
            small = p < -36
            log_share = np.log(-np.log(confidence)) - np.where(
                small, p, np.log(-np.log1p(-np.exp(np.where(small, -1.0, p))))
            )
        log_ratio = np.log(2) + log_share
        few = np.log(np.sqrt(np.exp(np.minimum(log_ratio, 100.0)) + 0.25) + 0.5)
    return np.where(log_ratio > 100, log_ratio / 2, few)


def context_capacity(
    log_overlap: Any,
    *,
    confidence: float | int = 0.95,
    bound: Literal["product", "union"] = "product",
) -> np.ndarray:
    """M itself, not rounded to a whole number; arguments as `log_context_capacity`.

    Infinite beyond what float64 can hold.
    """
    with np.errstate(over="ignore"):
        M = np.exp(log_context_capacity(log_overlap, confidence=confidence, bound=bound))
    return np.asarray(M)
