"""The penalty of demixed PCA, chosen by how well held-out trials give back the averages."""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from .condition_trials import ConditionTrials
from .dpca_decomposition import DemixedRegression
from .dpca_marginalisation import contrasts

#: Penalties that are tried, as fractions of |X|: none, and from 1e-4 to .9.
RIDGES = (0.0, *(1e-4 * 1.4**k for k in range(28)))


def held_out_losses(
    trials: ConditionTrials,
    terms: Mapping[str, Sequence[tuple[int, ...]]],
    *,
    n_components: Mapping[str, int | None],
    ridges: Sequence[float],
    noise: np.ndarray | None,
    n_splits: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Loss of held-out trials for each penalty, `(split, ridge)`.

    In each split one random trial of each cell, X_test, is left out of the averages, X. The loss is
    sum over parts of |X_phi - F D X_test|^2 / |X|^2, with F and D of X.

    **Arguments:**

    - `terms`: for each part by name its sets of axes.
    - `n_components`: for each part by name how many components.
    - `ridges`: penalties mu over |X|.
    - `noise`: added to X X^T, or `None`.

    **Reference:** Kobak et al. (2016), Demixed principal component analysis of neural population
    data, eLife 5:e10989, Methods, Regularization.
    """
    trials.check_counts(2)
    losses = np.zeros((n_splits, len(ridges)))
    for loss in losses:
        train, test = (contrasts(tensor, terms) for tensor in trials.held_out(rng))
        regression = DemixedRegression(train, noise=noise)
        everything = np.concatenate(list(test.values()))
        gram = everything.T @ everything
        for name, part in train.items():
            axes = [regression.solve(name, n_components[name], ridge) for ridge in ridges]
            # All penalties in one product each.
            of = np.repeat(np.arange(len(ridges)), [len(a.encoders) for a in axes])
            encoders, decoders = (np.concatenate(side) for side in zip(*axes, strict=True))
            matched = np.sum(encoders @ (part.T @ test[name]) * decoders, axis=1)
            read = np.sum(decoders @ gram * decoders, axis=1)
            gain = np.bincount(of, weights=2 * matched - read, minlength=len(ridges))
            loss += np.sum(part**2) - gain
        loss /= regression.squared_norm
    return losses


def choose_ridge(ridges: Sequence[float], losses: np.ndarray) -> float:
    """The penalty of the smallest mean loss; a warning where that is the largest of several."""
    best = int(np.argmin(losses.mean(axis=0)))
    if best == len(ridges) - 1 and len(ridges) > 1:
        warnings.warn(
            f"the largest penalty tried, {ridges[best]:.3g}, predicts held-out trials best: there "
            "may be nothing but noise in the averages, or larger ones should be tried.",
            stacklevel=4,
        )
    return float(ridges[best])
