"""Parts of activity that go with each factor of an experiment, and with their interactions."""

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from .activity import as_floating
from .estimator import refuse_traced

#: The factor that is the time axis; its interactions are joined to the effects of other factors.
TIME = "time"


def marginalise(
    X: Any,
    factors: Sequence[str],
    *,
    join: str | Mapping[str, Sequence[str]] = "time",
) -> dict[str, np.ndarray]:
    """Split condition averages into the parts that go with each factor and interaction.

    The part of a set of factors is the mean over all other factors, less the parts of all smaller
    sets within it (an analysis of variance). Every neuron is centred by its mean over all cells.
    Parts are orthogonal: they sum to the centred averages, and their squares to the squares.

    **Arguments:**

    - `X`: `(*levels, neuron)`, one axis for each factor, in their order.
    - `factors`: names of the axes; `"time"` last, where there is a time axis.
    - `join`: `"time"` puts the interaction of an effect with time in with the effect:
        `"stimulus:time"` counts as `"stimulus"`. `"none"` leaves all apart. Or, for each part by
        name, the terms that make it up: `{"stimulus": ["stimulus", "stimulus:time"]}`; terms that
        are in none stand alone.

    **Returns:** for each part by name, an array of the shape of `X`, NumPy float64.

    **Raises:** `ValueError` for names that do not match the axes or one another, a factor with one
    level, or values that are not finite.

    **Reference:** Kobak et al. (2016), Demixed principal component analysis of neural population
    data, eLife 5:e10989, Methods, Marginalization procedure.
    """
    names = check_factors(factors)
    refuse_traced(X, "a marginalisation")
    averages = np.asarray(as_floating(X, "X"), np.float64)
    if averages.ndim != len(names) + 1:
        raise ValueError(
            f"X must have an axis for each of {names} and one for neurons, got {averages.shape}."
        )
    if not np.isfinite(averages).all():
        raise ValueError("X holds values that are not finite: marginalise averages without gaps.")
    check_levels(dict(zip(names, averages.shape)))
    axes = range(len(names))
    parts: dict[tuple[int, ...], np.ndarray] = {(): averages.mean(axis=tuple(axes), keepdims=True)}
    for term in _subsets(len(names)):
        outside = tuple(axis for axis in axes if axis not in term)
        mean = averages.mean(axis=outside, keepdims=True)
        parts[term] = mean - sum(part for inner, part in parts.items() if set(inner) < set(term))
    return {
        name: np.array(np.broadcast_to(sum(parts[term] for term in terms), averages.shape))
        for name, terms in joined_terms(names, join).items()
    }


def contrasts(
    averages: np.ndarray, terms: Mapping[str, Sequence[tuple[int, ...]]]
) -> dict[str, np.ndarray]:
    """Parts of averages in orthonormal contrasts, as many rows as a part has degrees of freedom.

    X_phi^T X_phi' of the parts as `marginalise` gives them, flattened to `(cell, neuron)`, is the
    same as that of these rows; so are all their linear images. They cost one product with a matrix
    of the size of the conditions, and hold no value twice.

    **Arguments:**

    - `averages`: `(*levels, neuron)`.
    - `terms`: for each part by name its sets of axes, as `joined_terms` gives them.
    """
    last, n_neurons = averages.ndim - 2, averages.shape[-1]
    # Where each effect is joined with its interaction with the last factor, rows along that one
    # stay as they are, and only its own effect is centred.
    joined = {tuple(sorted(group)) for group in terms.values()} == {
        ((last,),), *((term, (*term, last)) for term in _subsets(last))
    }  # fmt: skip
    places, matrix = _contrast_matrix(averages.shape[:last])
    rows = matrix @ averages.reshape(len(matrix), -1)
    rows = rows.reshape(len(matrix), averages.shape[last], n_neurons)
    if not joined:
        rows = scipy.linalg.helmert(averages.shape[last], full=True) @ rows
    parts = {}
    for name, group in terms.items():
        if joined:
            part = rows[places[_without(group[0], last)]]
            parts[name] = part - part.mean(axis=1) if group == [(last,)] else part
        else:
            along = [slice(1, None) if last in term else slice(0, 1) for term in group]
            blocks = [rows[places[_without(t, last)], s] for t, s in zip(group, along, strict=True)]
            parts[name] = np.concatenate([block.reshape(-1, n_neurons) for block in blocks])
    return {name: part.reshape(-1, n_neurons) for name, part in parts.items()}


@functools.lru_cache(maxsize=8)
def _contrast_matrix(
    levels: tuple[int, ...],
) -> tuple[dict[tuple[int, ...], slice], np.ndarray]:
    """Orthonormal contrasts of cells, `(contrast, cell)`, and where those of each term are."""
    matrix = np.ones((1, 1))
    # For each contrast the axes along which it varies, as bits.
    varies = np.zeros(1, int)
    for axis, n in enumerate(levels):
        matrix = np.kron(matrix, scipy.linalg.helmert(n, full=True))
        varies = (varies[:, None] | np.where(np.arange(n) > 0, 1 << axis, 0)).ravel()
    terms = [(), *_subsets(len(levels))]
    members = [np.flatnonzero(varies == sum(1 << axis for axis in term)) for term in terms]
    stops = np.cumsum([len(each) for each in members])
    places = {
        term: slice(int(stop) - len(each), int(stop))
        for term, each, stop in zip(terms, members, stops, strict=True)
    }
    matrix = matrix[np.concatenate(members)]
    matrix.flags.writeable = False
    return places, matrix


def _without(term: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return tuple(other for other in term if other != axis)


def joined_terms(
    factors: Sequence[str], join: str | Mapping[str, Sequence[str]]
) -> dict[str, list[tuple[int, ...]]]:
    """For each part by name the sets of axes it is made up of; see `marginalise` for `join`."""
    terms = {":".join(factors[axis] for axis in term): term for term in _subsets(len(factors))}
    if isinstance(join, str):
        if join not in ("time", "none"):
            raise ValueError(f"join must be 'time', 'none', or terms by name, got {join!r}.")
        if join == "none" or TIME not in factors:
            return {name: [term] for name, term in terms.items()}
        time = factors.index(TIME)
        joined = {name: [t, (*t, time)] for name, t in terms.items() if time not in t}
        return joined | {TIME: [(time,)]}
    taken: dict[tuple[int, ...], str] = {}
    groups: dict[str, list[tuple[int, ...]]] = {}
    for name, members in join.items():
        if isinstance(members, str):
            raise ValueError(f"join[{name!r}] must be a list of terms, got {members!r}.")
        groups[name] = [_term(member, factors) for member in members]
        for member in groups[name]:
            if member in taken:
                raise ValueError(
                    f"{_name(member, factors)} is in both {taken[member]!r} and {name!r}."
                )
            taken[member] = name
    alone = {name: [term] for name, term in terms.items() if term not in taken}
    double = set(alone) & set(groups)
    if double or not all(groups.values()):
        raise ValueError(
            f"join must leave each part a name of its own and a term; got {dict(join)}, and "
            f"{sorted(alone)} on their own."
        )
    return groups | alone


def check_factors(factors: Iterable[str]) -> tuple[str, ...]:
    """Names of factors as a tuple; `ValueError` unless they can stand in names of terms."""
    if isinstance(factors, str):
        raise ValueError(f"factors must be a sequence of names, such as ({factors!r},).")
    names = tuple(factors)
    odd = [name for name in names if not isinstance(name, str) or ":" in name or not name]
    if odd or not names or len(set(names)) < len(names):
        raise ValueError(f"factors must be different names without a colon, got {names}.")
    if TIME in names[:-1]:
        raise ValueError(f"'time' must be the last factor, next to the neurons, got {names}.")
    return names


def check_levels(levels: Mapping[str, int]) -> None:
    """Raise `ValueError` for a factor with a single level, which has no effect."""
    for name, n in levels.items():
        if n < 2:
            raise ValueError(f"factor {name!r} has {n} level(s): two are needed for an effect.")


def _subsets(n: int) -> list[tuple[int, ...]]:
    """Sets of factors, small ones first."""
    return [s for size in range(1, n + 1) for s in itertools.combinations(range(n), size)]


def _term(name: str, factors: Sequence[str]) -> tuple[int, ...]:
    members = name.split(":")
    strange = [member for member in members if member not in factors]
    if strange or len(set(members)) < len(members):
        raise ValueError(f"{name!r} is no term of {tuple(factors)}: write 'first:second'.")
    return tuple(sorted(list(factors).index(member) for member in members))


def _name(term: tuple[int, ...], factors: Sequence[str]) -> str:
    return ":".join(factors[axis] for axis in term)
