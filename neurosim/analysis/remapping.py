"""Whether a population remaps between two contexts, and how: globally, partly or in rate."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .known_bin_correlation import known_correlations, paired_known_correlations
from .map_pairs import MapComparison, read_map_pair
from .map_similarity import (
    active_cells,
    activity_overlap,
    centroid_shift,
    rate_overlap,
    spatial_correlation,
)
from .population_vector_correlation import population_vector_correlation
from .resampling import as_generator


class RemappingMeasure(NamedTuple):
    """One measure of two contexts; see `remapping_report`.

    - `between`: of the two contexts, with its null and p value.
    - `between_halves`: mean over the four pairs of halves, one of each context.
    - `within`: mean over both contexts of their two halves.
    """

    between: MapComparison
    between_halves: float
    within: float


class RemappingReport(NamedTuple):
    """What differs between two contexts; see `remapping_report`.

    - `kind`: `"none"`, `"rate"`, `"partial"`, `"global"` or `"unstable"`.
    - `remapping_index`: 1 - between / within, of the population vector correlation.
    - `moved_fraction`, `moved_interval`: share of cells whose pattern has changed, of those active
      in both contexts, and its interval from a bootstrap over cells.
    - `rate_change`, `rate_interval`: 1 - between / within of rate overlap, and its interval.
    - `measures`: by name, `RemappingMeasure`.
    """

    kind: str
    remapping_index: float
    moved_fraction: float
    moved_interval: tuple[float, float]
    rate_change: float
    rate_interval: tuple[float, float]
    measures: Mapping[str, RemappingMeasure]

    def summary(self) -> str:
        """The report in a few lines."""
        lines = [
            f"remapping: {self.kind}; index {self.remapping_index:.2f}",
            "patterns moved: {:.0%} of cells ({:.0%} to {:.0%})".format(
                self.moved_fraction, *self.moved_interval
            ),
            "rates changed: {:.0%} ({:.0%} to {:.0%})".format(
                self.rate_change, *self.rate_interval
            ),
        ]
        for name, m in self.measures.items():
            chance = m.between.null.mean() if len(m.between.null) else np.nan
            lines.append(
                f"{name}: between {m.between.mean:.3f} (halves {m.between_halves:.3f}), within "
                f"{m.within:.3f}, chance {chance:.3f}, p {m.between.p_value:.3g}"
            )
        return "\n".join(lines)


def remapping_report(
    maps_a: Any,
    maps_b: Any,
    *,
    bin_size: Any,
    halves_a: Sequence[Any] | None = None,
    halves_b: Sequence[Any] | None = None,
    min_rate: float | int = 1.0,
    wrap: Any = False,
    least_change: float | int = 0.1,
    alpha: float | int = 0.05,
    n_shuffles: int | np.integer = 1000,
    n_resamples: int | np.integer = 1000,
    random_state: Any = 0,
) -> RemappingReport:
    """Compare the maps of a population in two contexts, and say what kind of remapping there is.

    Five measures, each for the two contexts, for cells paired at random, and for two halves of the
    same context: correlation of population vectors, spatial correlation, overlap of rates and of
    active cells, shift of centres. Halves hold less data than whole maps, so that what is within
    contexts is compared with halves of different ones.

    **The remapping index** estimates the share of cells that remap where the rest keep their maps
    and their rates. **The moved fraction** (s_within - s_between) / (s_within - s_chance), of
    spatial correlations over cells active in both contexts, knows nothing of rates; cells that fall
    silent have none.

    The kind is our rule, in this order:

    - `"unstable"`: spatial correlations within a context are no better than for cells paired at
      random, so that nothing can be said;
    - `"global"`: between contexts they are no better than that, or the interval of the moved
      fraction reaches 1;
    - `"partial"`: the moved fraction is `least_change` at least, and its interval above 0;
    - `"rate"`: rates have changed by `least_change` at least, with an interval above 0;
    - `"none"`.

    ```python
    print(remapping_report(a, b, bin_size=0.025, halves_a=(a1, a2), halves_b=(b1, b2)).summary())
    ```

    **Arguments:**

    - `maps_a`, `maps_b`: `RateMaps` or `(cell, *bins)` in Hz, of the same cells and bins.
    - `bin_size`: width of bins, or one for each of two axes.
    - `halves_a`, `halves_b`: two such maps of each context, of its first and second half, or of odd
        and even minutes. Without, maps are taken for exact: within contexts correlations and
        overlaps are then 1, shifts 0.
    - `min_rate`: cells with a higher peak are active, in Hz.
    - `wrap`: whether the ends of an axis meet, for all axes or for each.
    - `least_change`: what is too small to count.
    - `alpha`: level of tests; intervals are 1 - alpha wide.
    - `n_shuffles`, `n_resamples`: number of random pairings, and of resamples of cells.
    - `random_state`: seed or generator.

    **Returns:** `RemappingReport`.

    **Raises:** `ValueError` for shapes that differ, negative or infinite rates, fewer than two
    cells active in both contexts, halves of one context alone, or settings out of range.

    **Reference:** Leutgeb et al. (2005), Science 309, 619-623; Muller & Kubie (1987), J. Neurosci.
    7, 1951-1968.
    """
    read_map_pair(maps_a, maps_b, rates=True)
    if (halves_a is None) != (halves_b is None):
        raise ValueError("give halves of both contexts, or of neither.")
    for name, value in (("least_change", least_change), ("alpha", alpha)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must be between 0 and 1, got {value}.")
    shuffles = whole_number(n_shuffles, "n_shuffles", least=1)
    resamples = whole_number(n_resamples, "n_resamples", least=1)
    rng = as_generator(random_state)
    within, across = _pairs_of_halves(halves_a, halves_b)
    drawn: dict[str, Any] = {"n_shuffles": shuffles, "random_state": rng}
    place = {"bin_size": bin_size, "wrap": wrap}
    functions: dict[str, tuple[Any, dict[str, Any], float]] = {
        "population vector correlation": (population_vector_correlation, {}, 1.0),
        "spatial correlation": (spatial_correlation, {}, 1.0),
        "rate overlap": (rate_overlap, {}, 1.0),
        "activity overlap": (activity_overlap, {"min_rate": min_rate}, 1.0),
        "centroid shift": (centroid_shift, place, 0.0),
    }
    measures = {}
    for name, (measure, settings, exact) in functions.items():
        between = measure(maps_a, maps_b, **settings, **drawn)
        halves = [measure(x, y, **settings).mean for x, y in across]
        same = [measure(x, y, **settings).mean for x, y in within]
        measures[name] = RemappingMeasure(
            between,
            float(np.mean(halves)) if halves else between.mean,
            float(np.mean(same)) if same else exact,
        )
    vectors = measures["population vector correlation"]
    whole = [(maps_a, maps_b)]
    index = 1 - vectors.between_halves / vectors.within if vectors.within > 0 else np.nan
    active = active_cells(maps_a, min_rate, "maps_a") & active_cells(maps_b, min_rate, "maps_b")
    moved = _moved(active, across or whole, within, resamples, rng, alpha)
    rates = _rate_change(across or whole, within, resamples, rng, alpha)
    stable = all(
        spatial_correlation(x, y, n_shuffles=shuffles, random_state=rng).p_value <= alpha
        for x, y in within
    )
    kind = "none"
    if not stable:
        kind = "unstable"
    elif measures["spatial correlation"].between.p_value > alpha or moved[2] >= 1:
        kind = "global"
    elif moved[0] >= least_change and moved[1] > 0:
        kind = "partial"
    elif rates[0] >= least_change and rates[1] > 0:
        kind = "rate"
    return RemappingReport(kind, index, moved[0], moved[1:], rates[0], rates[1:], measures)


def _pairs_of_halves(
    halves_a: Sequence[Any] | None, halves_b: Sequence[Any] | None
) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]:
    """Pairs of halves of one context, and of different ones; none without halves."""
    if halves_a is None or halves_b is None:
        return [], []
    for name, halves in (("halves_a", halves_a), ("halves_b", halves_b)):
        if len(halves) != 2:
            raise ValueError(f"{name} must be two sets of maps, got {len(halves)}.")
    (a1, a2), (b1, b2) = halves_a, halves_b
    return [(a1, a2), (b1, b2)], [(x, y) for x in (a1, a2) for y in (b1, b2)]


def _moved(
    active: np.ndarray,
    across: list[tuple[Any, Any]],
    within: list[tuple[Any, Any]],
    n_resamples: int,
    rng: np.random.Generator,
    alpha: float | int,
) -> tuple[float, float, float]:
    """The moved fraction, and its interval."""
    pairs = [read_map_pair(x, y, rates=True) for x, y in across]
    between = np.mean([paired_known_correlations(pair.a, pair.b) for pair in pairs], axis=0)
    reference = _by_cell_within(spatial_correlation, within, len(between))
    kept = np.flatnonzero(active & np.isfinite(between) & np.isfinite(reference))
    if len(kept) < 2:
        raise ValueError(
            f"{len(kept)} cell(s) are active in both contexts, with maps that vary (in all halves "
            "too): two are needed."
        )
    tables = np.array([known_correlations(pair.a[kept], pair.b[kept]) for pair in pairs])
    chance = np.nanmean(tables[:, ~np.eye(len(kept), dtype=bool)])
    gain = reference[kept] - between[kept]
    return _ratio(gain, reference[kept] - chance, n_resamples, rng, alpha)


def _rate_change(
    across: list[tuple[Any, Any]],
    within: list[tuple[Any, Any]],
    n_resamples: int,
    rng: np.random.Generator,
    alpha: float | int,
) -> tuple[float, float, float]:
    """1 - between / within of rate overlaps, and its interval."""
    between = np.mean([rate_overlap(x, y).values for x, y in across], axis=0)
    reference = _by_cell_within(rate_overlap, within, len(between))
    kept = np.isfinite(between) & np.isfinite(reference)
    change = reference[kept] - between[kept]
    return _ratio(change, reference[kept], n_resamples, rng, alpha)


def _by_cell_within(measure: Any, within: list[tuple[Any, Any]], n_cells: int) -> np.ndarray:
    """Mean of a measure over the halves of each context, `(cell,)`; 1 without halves."""
    same = [measure(x, y).values for x, y in within]
    return np.mean(same, axis=0) if same else np.ones(n_cells)


def _ratio(
    above: np.ndarray,
    below: np.ndarray,
    n_resamples: int,
    rng: np.random.Generator,
    alpha: float | int,
) -> tuple[float, float, float]:
    """Ratio of means over cells, and its interval from a bootstrap over cells."""
    if len(above) == 0 or below.mean() <= 0:
        return np.nan, np.nan, np.nan
    drawn = rng.integers(len(above), size=(n_resamples, len(above)))
    means = below[drawn].mean(axis=1)
    ratios = above[drawn].mean(axis=1) / np.where(means > 0, means, np.nan)
    low, high = np.nanquantile(ratios, [alpha / 2, 1 - alpha / 2])
    return float(above.mean() / below.mean()), float(low), float(high)
