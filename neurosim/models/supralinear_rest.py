"""Rest points of the stabilized supralinear network: its flow followed, and Newton's method."""

from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

#: Rates beyond which a network counts as having run away.
RUNAWAY = 1e6


class SSNRestPoint(NamedTuple):
    """Where a network rests for a held input.

    - `r`: `(N,)` rates in NumPy float64; NaN where they ran away, without meaning where the search
      has not converged.
    - `residual`: the largest `|tau dr/dt|` (or `|tau dv/dt|`) there.
    - `converged`: whether it is a rest point up to rounding.
    - `stable`: whether it is one and every eigenvalue of its Jacobian has a negative real part.
    """

    r: np.ndarray
    residual: float
    converged: bool
    stable: bool


def find_rest(
    h: np.ndarray, W: np.ndarray, tau: np.ndarray, k: float, p: float, *, voltage: bool
) -> SSNRestPoint:
    """The rest point that the flow reaches from silence.

    **Arguments:**

    - `h`: `(N,)` external input. `W`: `(N, N)`. `tau`: `(N,)`. `k`, `p`: the power law.
    - `voltage`: the flow of voltages instead of rates.
    """

    def rate(u):
        return k * np.maximum(u, 0) ** p

    def residual(s):
        return (h + W @ rate(s) if voltage else rate(h + W @ s)) - s

    def jacobian(s):
        if voltage:
            return W * _slope(s, k, p) - np.eye(len(s))
        return _slope(h + W @ s, k, p)[:, None] * W - np.eye(len(s))

    def runs_away(t, s):
        return RUNAWAY - np.max(np.abs(s))

    runs_away.terminal = True
    unit = np.max(tau)
    start = h if voltage else np.zeros(len(h))
    with np.errstate(over="ignore", invalid="ignore"):
        run = solve_ivp(
            lambda t, s: residual(s) * unit / tau, (0, 500), start, method="LSODA",
            jac=lambda t, s: jacobian(s) * (unit / tau)[:, None],
            rtol=1e-6, atol=1e-8, events=runs_away,
        )  # fmt: skip
        end = run.y[:, -1]
        if run.status != 0 or not np.all(np.isfinite(end)):
            return SSNRestPoint(np.full(len(h), np.nan), np.inf, False, False)
        tolerance = 1e-10 * (1 + np.max(np.abs(end)))
        # What circles has its rest point about the mean of the circle.
        late = run.t > run.t[-1] / 2
        for s in (end, np.average(run.y[:, late], axis=1, weights=np.diff(run.t)[late[1:]])):
            for _ in range(50):
                f = residual(s)
                if np.max(np.abs(f)) < 1e-3 * tolerance:
                    break
                s = _newton(s, f, jacobian(s), residual)
            size = float(np.max(np.abs(residual(s))))
            if converged := size < tolerance:
                break
    stable = converged and np.linalg.eigvals(jacobian(s) / tau[:, None]).real.max() < 0
    return SSNRestPoint(rate(s) if voltage else s, size, bool(converged), bool(stable))


def excitatory_gain(u: np.ndarray, W: np.ndarray, k: float, p: float, n_excitatory: int) -> float:
    """The leading eigenvalue of the excitatory units' own loop at the drive `u`, minus 1."""
    E = slice(n_excitatory)
    loop = _slope(u[E], k, p)[:, None] * W[E, E]
    return float(np.linalg.eigvals(loop).real.max() - 1)


def _slope(u: np.ndarray, k: float, p: float) -> np.ndarray:
    """The derivative of `k [u]+^p`."""
    return k * p * np.maximum(u, 0) ** (p - 1)


def _newton(s: np.ndarray, f: np.ndarray, J: np.ndarray, residual: Any) -> np.ndarray:
    """One Newton step, halved until the residual falls; the state itself where none does."""
    try:
        step = np.linalg.solve(J, -f)
    except np.linalg.LinAlgError:
        return s
    for halvings in range(12):
        new = s + step * 0.5**halvings
        if np.max(np.abs(residual(new))) < np.max(np.abs(f)):
            return new
    return s
