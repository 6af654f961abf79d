"""The leading eigenvectors of a symmetric matrix, in less time than `scipy.linalg.eigh` takes."""

import numpy as np
import scipy.linalg


def leading_eigenvectors(M: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The `n` largest eigenvalues, ascending, and their eigenvectors as columns.

    For some of the eigenvalues, LAPACK's driver behind `eigh` turns from the method of relatively
    robust representations to bisection and inverse iteration, which takes half as long again. The
    method itself takes a range as well, and is called here on the tridiagonal matrix.

    **Arguments:**

    - `M`: symmetric float64, `(size, size)`, of which the lower triangle is read.

    **Reference:** Dhillon & Parlett (2004), Multiple representations to compute orthogonal
    eigenvectors of symmetric tridiagonal matrices, Linear Algebra and its Applications 387, 1-28.
    """
    size = len(M)
    if size > 2:
        to_tridiagonal, robust, turn_back = scipy.linalg.get_lapack_funcs(
            ("sytrd", "stemr", "ormqr"), (M,)
        )
        reflectors, diagonal, off, scales, failed = to_tridiagonal(M, lower=1, lwork=32 * size)
        # Range 2 is by index, from 1; the last element of the off-diagonal is work space.
        found, values, vectors, failed_too = robust(
            diagonal, np.append(off, 0.0), 2, 0.0, 0.0, size - n + 1, size,
            lwork=18 * size, liwork=10 * size,
        )  # fmt: skip
        if not (failed or failed_too) and found == n:
            vectors = vectors[:, :n]
            vectors[1:] = turn_back("L", "N", reflectors[1:, :-1], scales, vectors[1:], 32 * size)[
                0
            ]
            return values[:n], vectors
    return scipy.linalg.eigh(M, subset_by_index=[size - n, size - 1], check_finite=False)
