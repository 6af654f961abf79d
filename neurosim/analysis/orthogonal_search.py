"""The orthogonal C that brings C B C^T nearest to A: descents from many starts at a time.

Arrays of all starts go through each step together, since one of a small matrix is mostly overhead.
"""

import numpy as np

#: Past steps that tell a descent about curvature.
MEMORY = 6
#: Steps before descents are compared, over the dimension of the matrices.
ROUND = 3
#: Largest decrease still ahead, over the value, with which a descent has arrived.
ARRIVED = 1e-15
#: Steps of the last descents, at most; they take a hundred or so.
MOST_STEPS = 5000


def nearest_conjugate(
    a: np.ndarray, b: np.ndarray, starts: np.ndarray, *, enough: float, rng: np.random.Generator
) -> np.ndarray:
    """Orthogonal C for which |A - C B C^T|^2 is least, as far as descents find it.

    Values after a few steps tell which descents will end low: of all starts half go on for some
    more steps, and the best 2 of those are reflected about 8 random axes each. Basins are wide: a
    turn by a small angle would lead back, whereas a reflection lands in one nearby. The best of all
    go on until they arrive. Both determinants are searched where `starts` has both.

    **Arguments:**

    - `a`, `b`: `(n, n)`, of norm 1.
    - `starts`: orthogonal matrices `(start, n, n)`.
    - `enough`: a value with which the search is over.
    - `rng`: for the axes.
    """
    n = len(a)
    descents = _Descents(a, b, starts)

    def advance(kept: int) -> bool:
        """A round of steps, after which the best go on; whether one is good enough."""
        for _ in range(ROUND):
            if descents.value.min() <= enough:
                return True
            descents.step_on(n)
        descents.keep_best(kept)
        return bool(descents.value[0] <= enough)

    if not (advance(-(-len(starts) // 2)) or advance(2)):
        axes = rng.normal(size=(8, len(descents.C), n))
        axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
        across = (axes[..., None, :] @ descents.C) * axes[..., None]
        reflected = (descents.C - 2 * across).reshape(-1, n, n)
        descents = _Descents(a, b, np.concatenate([descents.C, reflected]))
        if not advance(6):
            advance(3)
    if descents.value.min() <= enough:
        descents.keep_best(1)
    for _ in range(MOST_STEPS // 5):
        if descents.arrived():
            break
        descents.step_on(5)
    left, _, right = np.linalg.svd(descents.C[np.argmin(descents.value)])
    return left @ right


class _Descents:
    """Descents of |A - C B C^T|^2, each by the quasi-Newton method in steps of limited memory.

    C moves to Q C, with Q = (I - K/2)^-1 (I + K/2), Cayley's transform of an antisymmetric K.
    Gradients and steps are such K, flat; those of different C are compared as they are. Steps that
    do not lower the value enough are tried again shorter. The value is the squared norm of the
    difference itself, so that it is accurate near zero.
    """

    def __init__(self, a: np.ndarray, b: np.ndarray, starts: np.ndarray) -> None:
        self.a, self.b, self.C = a, b, starts
        self.value, self.gradient = self._measure(starts)
        n_starts, size = self.gradient.shape
        # Steps, and changes of the gradient; and one over their product, 0 where it is not used.
        self.steps, self.changes = np.zeros((2, MEMORY, n_starts, size))
        self.weight = np.zeros((MEMORY, n_starts))
        self.n_taken = 0
        # A first step has norm 1/2, and less where little is left: curvatures are below 1 or so.
        self.scale = 0.5 / np.maximum(np.linalg.norm(self.gradient, axis=1), 0.5)
        self.direction = -self.scale[:, None] * self.gradient
        self.slope = np.vecdot(self.direction, self.gradient) / 2
        self.length = np.ones(n_starts)

    def arrived(self) -> bool:
        """Whether no descent has a decrease ahead that is more than rounding."""
        # The second, where the two systems are one: the square of rounding errors.
        return bool((self.slope >= -ARRIVED * self.value - 1e-29).all())

    def keep_best(self, n: int) -> None:
        """Go on with the `n` of least value, least first."""
        which = np.argsort(self.value, kind="stable")[:n]
        for name in ("C", "value", "gradient", "scale", "direction", "slope", "length"):
            setattr(self, name, getattr(self, name)[which])
        for name in ("steps", "changes", "weight"):
            setattr(self, name, getattr(self, name)[:, which])

    def step_on(self, n_steps: int) -> None:
        """Try a step of each descent, so many times."""
        eye = np.eye(len(self.a))
        for _ in range(n_steps):
            step = self.length[:, None] * self.direction
            half = step.reshape(self.C.shape) / 2
            # K is antisymmetric, so I - K/2 is never singular.
            C = (2 * np.linalg.inv(eye - half) - eye) @ self.C
            value, gradient = self._measure(C)
            gain, expected = value - self.value, self.length * self.slope
            lower = gain <= 1e-4 * expected + 1e-16 * self.value
            self._remember(lower, step, gradient - self.gradient)
            # The least of the parabola through what is known, unless far from the last.
            shorter = -expected * self.length / 2 / np.maximum(gain - expected, 1e-300)
            shorter = np.clip(shorter, 0.1 * self.length, 0.5 * self.length)
            self.C = np.where(lower[:, None, None], C, self.C)
            self.gradient = np.where(lower[:, None], gradient, self.gradient)
            self.value = np.where(lower, value, self.value)
            direction = self._newton_direction()
            self.direction = np.where(lower[:, None], direction, self.direction)
            self.slope = np.where(lower, np.vecdot(direction, self.gradient) / 2, self.slope)
            self.length = np.where(lower, 1.0, shorter)

    def _measure(self, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values, and gradients such that a step K changes the value by sum(gradient * K) / 2."""
        n = len(self.a)
        # Products with one matrix for all are single ones of flat arrays.
        difference = self.a - (C.reshape(-1, n) @ self.b).reshape(C.shape) @ C.swapaxes(1, 2)
        by_K = (difference.reshape(-1, n) @ self.a.T).reshape(C.shape) - self.a.T @ difference
        flat = difference.reshape(len(C), -1)
        return np.vecdot(flat, flat), 2 * (by_K.swapaxes(1, 2) - by_K).reshape(len(C), -1)

    def _remember(self, taken: np.ndarray, step: np.ndarray, change: np.ndarray) -> None:
        product, square = np.vecdot(step, change), np.vecdot(change, change)
        # Curvature upwards, and not that of rounding.
        useful = taken & (product > np.maximum(1e-10 * square, 1e-60))
        at = self.n_taken % MEMORY
        self.steps[at], self.changes[at] = step, change
        product, square = np.where(useful, product, 1), np.where(useful, square, 1)
        self.weight[at] = useful / product
        self.scale = np.where(useful, product / square, self.scale)
        self.n_taken += 1

    def _newton_direction(self) -> np.ndarray:
        """Minus the inverse of the Hessian, as past steps tell it, times the gradient."""
        newest_first = [(self.n_taken - 1 - i) % MEMORY for i in range(min(MEMORY, self.n_taken))]
        direction, along = -self.gradient, {}
        for at in newest_first:
            along[at] = self.weight[at] * np.vecdot(self.steps[at], direction)
            direction = direction - along[at][:, None] * self.changes[at]
        direction = self.scale[:, None] * direction
        for at in reversed(newest_first):
            back = self.weight[at] * np.vecdot(self.changes[at], direction)
            direction = direction + (along[at] - back)[:, None] * self.steps[at]
        return direction
