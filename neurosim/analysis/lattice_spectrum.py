"""The lattice of a torus, hexagonal or square, from how far its angles have to go."""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .known_arrays import read_known

# Energies of whole-number combinations, signs apart, over the least: the theta series.
_COEFFICIENTS = 12
_GRAMS = {
    "hexagonal": np.array([[1.0, 0.5], [0.5, 1.0]]),
    "square": np.eye(2),
}
# The mean difference of logarithms beyond which it is neither: the two differ by 0.36 (see tests).
_FAR = 0.15
_COMPARED = 8


class LatticeSpectrum(NamedTuple):
    """What lattice a torus has; see `lattice_spectrum`."""

    lattice: str
    energies: np.ndarray
    angle: float
    ratio: float
    misfit: dict[str, float]


def lattice_spectrum(gram: Any, *, n_energies: int | np.integer = 8) -> LatticeSpectrum:
    """Whether a torus is hexagonal or square, from the energies of its circular coordinates.

    The angles of a torus are whole-number combinations of two. Their energies, over the least, are
    a property of the lattice: 1, 1, 1, 3, 3, 3, 4, 4 for a hexagonal one, 1, 1, 2, 2, 4, 4, 5, 5
    for a square one.

    ```python
    persistence = rips_persistence(cloud, max_dim=1, coefficient=47, cocycles=True)
    lattice_spectrum(circular_classes(persistence).gram).lattice
    ```

    **Arguments:**

    - `gram`: `(2, 2)`, of `circular_classes`.
    - `n_energies`: how many to return.

    **Returns:** `LatticeSpectrum`:

    - `lattice`: `"hexagonal"`, `"square"` or `"neither"`: which the first eight energies are nearer
      to, if near.
    - `energies`: `(n_energies,)`, over the least, in ascending order; a combination and its
      negative count once.
    - `angle`: between the two shortest independent combinations, degrees, from 60 (hexagonal) to 90
      (square, rectangular).
    - `ratio`: of their lengths, 1 or more.
    - `misfit`: for each lattice the mean magnitude of the difference of logarithms of energies.

    **Raises:** `ValueError` for another shape, values that are not finite, or a matrix that is not
    symmetric and positive definite. `TypeError` under `jit`, `grad` or `vmap`.
    """
    (matrix,) = read_known("lattice_spectrum", gram=gram)
    if matrix.shape != (2, 2):
        raise ValueError(f"gram must be (2, 2), got shape {matrix.shape}.")
    n = whole_number(n_energies, "n_energies", least=1)
    if n > _COEFFICIENTS**2:
        raise ValueError(f"n_energies must be at most {_COEFFICIENTS**2}, got {n}.")
    if not np.allclose(matrix, matrix.T) or not (np.linalg.eigvalsh(matrix) > 0).all():
        raise ValueError(f"gram must be symmetric and positive definite, got {matrix.tolist()}.")
    reduced = _reduced(np.asarray(matrix, np.float64))
    energies = _energies(reduced)
    misfit = {
        name: float(np.mean(np.abs(np.log(energies / _energies(ideal))[:_COMPARED])))
        for name, ideal in _GRAMS.items()
    }
    best = min(misfit, key=lambda name: misfit[name])
    cosine = abs(reduced[0, 1]) / np.sqrt(reduced[0, 0] * reduced[1, 1])
    return LatticeSpectrum(
        lattice=best if misfit[best] <= _FAR else "neither",
        energies=energies[:n],
        angle=float(np.degrees(np.arccos(cosine))),
        ratio=float(np.sqrt(reduced[1, 1] / reduced[0, 0])),
        misfit=misfit,
    )


def _reduced(gram: np.ndarray) -> np.ndarray:
    """The Gram matrix of the two shortest vectors of the lattice, by Lagrange's reduction."""
    while True:
        if gram[1, 1] < gram[0, 0]:
            gram = gram[::-1, ::-1]
        times = np.round(gram[0, 1] / gram[0, 0])
        if times == 0:
            return gram
        step = np.array([[1.0, 0.0], [-times, 1.0]])
        gram = step @ gram @ step.T


def _energies(gram: np.ndarray) -> np.ndarray:
    a, b = np.meshgrid(np.arange(_COEFFICIENTS + 1), np.arange(-_COEFFICIENTS, _COEFFICIENTS + 1))
    half = (a > 0) | ((a == 0) & (b > 0))
    pairs = np.stack([a[half], b[half]], axis=1)
    energy = np.sort(np.einsum("ki,ij,kj->k", pairs, gram, pairs))
    return energy / energy[0]
