"""Random circuits of divisive normalization, by several ways to draw them."""

from typing import Any, NamedTuple

import numpy as np

#: What `draw_recurrent` knows.
RECURRENCES = ("gaussian", "orthogonal", "symmetric", "negative")


class Circuits(NamedTuple):
    """A batch of circuits; each array has the circuit as first axis.

    NumPy where they are drawn, JAX where they are computed with. `z`, `b`, `b0`, `sigma`:
    `(circuit, n)`. `W`: `(circuit, n, n)`; `W_r` like it, or `None` for
    the identity. `tau_y`, `tau_a`: `(circuit, n)`.
    """

    z: Any
    W_r: Any
    W: Any
    b: Any
    b0: Any
    sigma: Any
    tau_y: Any
    tau_a: Any


def draw_theorem_circuits(n: int, count: int, rng: np.random.Generator) -> Circuits:
    """Circuits with W_r = I over decades of every parameter, weights sparse.

    Gains, floors and semisaturations over two decades, time constants over three, input over four,
    each pair of neurons connected with a probability that differs between circuits.
    """

    def decades(low: float | int, high: float | int, *shape: int) -> np.ndarray:
        return 10.0 ** rng.uniform(low, high, (count, *shape))

    dense = rng.uniform(0.1, 1, (count, 1, 1))
    W = decades(-2, 1, n, n) * (rng.random((count, n, n)) < dense)
    z = rng.standard_normal((count, n)) * decades(-2, 2, 1)
    return Circuits(
        z, None, W, decades(-1, 1, n), decades(-1, 1, n), decades(-1.5, 0.5, n),
        decades(-3.5, -0.5, n), decades(-3.5, -0.5, n),
    )  # fmt: skip


def draw_recurrent(
    kind: str, n: int, count: int, norm: float, rng: np.random.Generator
) -> np.ndarray:
    """Recurrent matrices `(count, n, n)` whose largest singular value is `norm`.

    - `"gaussian"`: independent normal entries, scaled.
    - `"orthogonal"`: uniform over rotations and reflections.
    - `"symmetric"`: as the first, made symmetric before it is scaled.
    - `"negative"`: minus the identity.
    """
    draw = rng.standard_normal((count, n, n))
    if kind == "negative":
        return np.broadcast_to(-norm * np.eye(n), draw.shape).copy()
    if kind == "orthogonal":
        q, r = np.linalg.qr(draw)
        return norm * q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    if kind == "symmetric":
        draw = draw + np.swapaxes(draw, 1, 2)
    return norm * draw / np.linalg.norm(draw, 2, axis=(1, 2))[:, None, None]


def draw_conjecture_circuits(
    kind: str, n: int, count: int, *, norm: float, largest_b: float, rng: np.random.Generator
) -> Circuits:
    """Circuits as the authors drew them: |z| = 1, other parameters uniform up to 1, one tau.

    `largest_b` is the upper end of the uniform distribution of b.
    """
    z = rng.standard_normal((count, n))
    return Circuits(
        z=z / np.linalg.norm(z, axis=1, keepdims=True),
        W_r=draw_recurrent(kind, n, count, norm, rng),
        W=rng.random((count, n, n)),
        b=largest_b * rng.random((count, n)),
        b0=rng.random((count, n)),
        sigma=rng.random((count, n)),
        tau_y=np.ones((count, n)),
        tau_a=np.ones((count, n)),
    )
