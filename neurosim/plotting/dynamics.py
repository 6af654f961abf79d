"""Figures of dynamics: eigenvalues in the complex plane, fixed points over a flow field."""

from typing import Any

import numpy as np

from .style import PALETTE, new_figure


def plot_eigenvalues(eigenvalues: Any, *, kind: str | None = None, ax: Any = None) -> Any:
    """Eigenvalues in the complex plane, with the border of stability.

    That is the unit circle for a map, the imaginary axis for a flow. Stable ones are filled.

    **Arguments:**

    - `eigenvalues`: `(mode,)`, or `(set, mode)` with a colour for each set; or what has them:
      `FixedPoints`, the result of `linearise`, a fitted `DMD`.
    - `kind`: `"map"` or `"flow"`; `FixedPoints` and `DMD` know theirs.
    - `ax`: matplotlib `Axes`; a new one by default.

    **Returns:** the `Axes`.

    **Raises:** `ValueError` for no kind, or another; or one that is not theirs.
    """
    known = getattr(eigenvalues, "kind", None)
    if hasattr(eigenvalues, "eigenvalues_"):
        # What is fitted from one sample to the next is a map.
        eigenvalues, known = eigenvalues.eigenvalues_, "map"
    kind = _kind(kind, known)
    values = np.asarray(getattr(eigenvalues, "eigenvalues", eigenvalues), dtype=complex)
    if values.ndim not in (1, 2):
        raise ValueError(f"eigenvalues must be (mode,) or (set, mode), got shape {values.shape}.")
    if ax is None:
        _, ax = new_figure(2.6, 2.6)
    if kind == "map":
        turn = np.linspace(0, 2 * np.pi, 200)
        ax.plot(np.cos(turn), np.sin(turn), color="0.6", lw=0.8, label="unit circle")
    else:
        ax.axvline(0, color="0.6", lw=0.8, label="imaginary axis")
    named = set()
    for index, each in enumerate(np.atleast_2d(values)):
        colour = PALETTE[index % len(PALETTE)]
        stable = np.abs(each) < 1 if kind == "map" else each.real < 0
        for chosen, face, name in ((stable, colour, "stable"), (~stable, "white", "not stable")):
            if chosen.any():
                ax.plot(
                    each[chosen].real, each[chosen].imag, "o", ms=4, mfc=face, mec=colour,
                    ls="none", label=None if name in named else name, zorder=3,
                )  # fmt: skip
                named.add(name)
    if kind == "map":
        ax.set_aspect("equal")
    unit = "" if kind == "map" else " (per unit of time)"
    ax.set(xlabel=f"real part{unit}", ylabel=f"imaginary part{unit}")
    return ax


def plot_flow_field(
    f: Any,
    plane: Any,
    *,
    limits: Any,
    origin: Any = None,
    kind: str | None = None,
    fixed_points: Any = None,
    n_grid: int = 25,
    ax: Any = None,
) -> Any:
    """Flow in a plane of states, and fixed points projected on it.

    Where the plane is not invariant, streamlines show the part of the flow that lies in it, from
    states that lie in it: not what trajectories do that leave it.

    **Arguments:**

    - `f`: of one state `(n,)`, in `jax.numpy`, as for `find_fixed_points`.
    - `plane`: `(2, n)`, orthonormal rows, such as two principal axes.
    - `limits`: `(2, 2)`, the smallest and the largest value of each coordinate of the plane.
    - `origin`: `(n,)`, the state at coordinates (0, 0); 0 by default.
    - `kind`: `"map"`, drawn by where a step goes, or `"flow"`; that of `fixed_points` by default.
    - `fixed_points`: `FixedPoints` of states `(n,)`. Stable ones are filled; of a continuum all
      members are drawn.
    - `n_grid`: states along each coordinate at which `f` is evaluated.
    - `ax`: matplotlib `Axes`; a new one by default.

    **Returns:** the `Axes`.

    **Raises:** `ValueError` for shapes that do not fit, rows that are not orthonormal, limits
    without order, no kind, or one other than that of the fixed points.
    """
    import jax

    kind = _kind(kind, getattr(fixed_points, "kind", None))
    plane = np.asarray(plane, dtype=float)
    if plane.ndim != 2 or len(plane) != 2 or plane.shape[1] < 2:
        raise ValueError(f"plane must be (2, n), got shape {plane.shape}.")
    if not np.allclose(plane @ plane.T, np.eye(2), atol=1e-5):
        raise ValueError("rows of plane must be orthonormal.")
    origin = np.zeros(plane.shape[1]) if origin is None else np.asarray(origin, dtype=float)
    if origin.shape != plane.shape[1:]:
        raise ValueError(f"origin must be {plane.shape[1:]}, as a state, got {origin.shape}.")
    bounds = np.asarray(limits, dtype=float)
    if bounds.shape != (2, 2) or not (bounds[:, 0] < bounds[:, 1]).all():
        raise ValueError(f"limits must be (2, 2), smallest then largest, got {limits}.")
    if ax is None:
        _, ax = new_figure(3.0, 2.6)
    x, y = (np.linspace(low, high, n_grid) for low, high in bounds)
    states = origin + np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2) @ plane
    moved = np.asarray(jax.vmap(f)(jax.numpy.asarray(states)), dtype=float)
    velocity = moved - states if kind == "map" else moved
    u, v = (velocity @ plane.T).T.reshape(2, n_grid, n_grid)
    ax.streamplot(x, y, u, v, color="0.7", linewidth=0.6, arrowsize=0.6, density=0.9)
    if fixed_points is not None:
        _draw_fixed_points(ax, fixed_points, lambda points: (points - origin) @ plane.T)
    ax.set(xlim=bounds[0], ylim=bounds[1], xlabel="first axis", ylabel="second axis")
    return ax


def _draw_fixed_points(ax: Any, found: Any, project: Any) -> None:
    states, stable = np.asarray(found.points), np.asarray(found.stable, bool)
    continuous = np.asarray(found.continuous, bool)
    for is_stable, word, face in ((True, "stable", PALETTE[1]), (False, "unstable", "white")):
        alone = (stable == is_stable) & ~continuous
        along = (stable == is_stable) & continuous
        members = [np.asarray(found.members[i]) for i in np.flatnonzero(along)]
        for at, marker, size, what in (
            (states[alone], "X", 6, "fixed point"),
            (np.concatenate(members) if members else states[:0], "o", 2.5, "continuum"),
        ):
            if len(at):
                ax.plot(
                    *project(at).T, marker, ms=size, mfc=face, mec=PALETTE[1], ls="none",
                    label=f"{word} {what}", zorder=4,
                )  # fmt: skip
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="upper right", frameon=True)


def _kind(given: str | None, known: str | None) -> str:
    kind = known if given is None else given
    if kind not in ("map", "flow"):
        raise ValueError(f"kind must be 'map' or 'flow', got {kind!r}.")
    if known is not None and kind != known:
        raise ValueError(f"kind is {known!r} of what was given, not {kind!r}.")
    return kind
