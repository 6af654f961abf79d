"""Figures of normalization circuits: phase plane, spectra, energy, contrast response, power."""

from typing import Any

import numpy as np

from .style import PALETTE, SEQUENTIAL, new_figure, ordered_colours

#: Marker, whether it is filled, and label of each type of fixed point.
_MARKERS = {
    "stable focus": ("o", True),
    "stable node": ("s", True),
    "unstable focus": ("o", False),
    "unstable node": ("s", False),
    "saddle": ("X", False),
    "degenerate": ("d", False),
}


def plot_phase_portrait_2d(
    flow: Any,
    *,
    limits: Any,
    fixed_points: Any = None,
    basins: Any = None,
    labels: tuple[str, str] = ("y", "a"),
    n_grid: int = 200,
    ax: Any = None,
) -> Any:
    """The flow of a circuit in the plane, its nullclines, fixed points by type, and basins.

    **Arguments:**

    - `flow`: of states `(point, 2)` to their time derivatives `(point, 2)`.
    - `limits`: `(2, 2)`, the smallest and the largest value of each variable.
    - `fixed_points`: what `fixed_points_2d` found; those inside the limits are drawn.
    - `basins`: `(row, column)`, labels as of `basins_of_attraction` from a grid over the limits,
      the second variable by row; -1 stays white.
    - `labels`: names of the two variables.
    - `n_grid`: states along each axis at which the nullclines are sought.
    - `ax`: matplotlib `Axes`; a new one by default.

    **Returns:** the `Axes`.

    **Raises:** `ValueError` for limits without order, and basins of another shape.
    """
    bounds = np.asarray(limits, dtype=float)
    if bounds.shape != (2, 2) or not (bounds[:, 0] < bounds[:, 1]).all():
        raise ValueError(f"limits must be (2, 2), smallest then largest, got {limits}.")
    if ax is None:
        _, ax = new_figure(3.2, 2.6)
    if basins is not None:
        _draw_basins(ax, np.asarray(basins), bounds)
    x, y = (np.linspace(low, high, n_grid) for low, high in bounds)
    states = np.stack(np.meshgrid(x, y), axis=-1)
    speed = np.asarray(flow(states.reshape(-1, 2)), dtype=float).reshape(states.shape)
    every = max(1, n_grid // 25)
    ax.streamplot(
        x[::every], y[::every], speed[::every, ::every, 0], speed[::every, ::every, 1],
        color="0.7", linewidth=0.6, arrowsize=0.6, density=0.9,
    )  # fmt: skip
    for index, name in enumerate(labels):
        zero = speed[..., index]
        if zero.min() < 0 < zero.max():
            ax.contour(x, y, zero, levels=[0], colors=[PALETTE[index]], linewidths=1.2)
        ax.plot([], [], color=PALETTE[index], label=f"d{name}/dt = 0")
    if fixed_points is not None:
        at = np.stack([fixed_points.y, fixed_points.a], axis=1)
        inside = ((at >= bounds[:, 0]) & (at <= bounds[:, 1])).all(axis=1)
        types = np.asarray(fixed_points.types)
        for kind, (marker, filled) in _MARKERS.items():
            shown = at[inside & (types == kind)]
            if len(shown):
                ax.plot(
                    *shown.T, marker, ms=6, mfc="black" if filled else "white", mec="black",
                    ls="none", label=kind, zorder=4,
                )  # fmt: skip
    # Above the axes, since a fixed point may be anywhere in them.
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    ax.set(xlim=bounds[0], ylim=bounds[1], xlabel=f"${labels[0]}$", ylabel=f"${labels[1]}$")
    return ax


def _draw_basins(ax: Any, basins: np.ndarray, bounds: np.ndarray) -> None:
    from matplotlib.colors import ListedColormap, to_rgb

    if basins.ndim != 2 or min(basins.shape) < 2:
        raise ValueError(f"basins must be (row, column), two or more each, got {basins.shape}.")
    n = max(int(basins.max()) + 1, 1)
    pale = [0.75 + 0.25 * np.array(to_rgb(PALETTE[(2 + i) % len(PALETTE)])) for i in range(n)]
    # The outer labels belong to the limits themselves, half a cell inside the picture.
    half = (bounds[:, 1] - bounds[:, 0]) / (2 * (np.array(basins.shape[::-1]) - 1))
    (left, right), (bottom, top) = bounds + half[:, None] * [-1, 1]
    ax.imshow(
        np.ma.masked_less(basins, 0), origin="lower", extent=(left, right, bottom, top),
        cmap=ListedColormap(pale), vmin=-0.5, vmax=n - 0.5, aspect="auto",
        interpolation="nearest", zorder=0,
    )  # fmt: skip


def plot_spectrum_map(
    eigenvalues: Any, values: Any = None, *, name: str = "", log: bool = False, ax: Any = None
) -> Any:
    """Eigenvalues of many circuits or inputs in the complex plane, coloured by a value of each.

    **Arguments:**

    - `eigenvalues`: `(circuit, mode)`, of Jacobians of a flow.
    - `values`: `(circuit,)`, such as contrast; the index by default. `name`: for the colour bar.
    - `log`: whether colours go by the logarithm of the values.
    - `ax`: matplotlib `Axes`; a new one by default.

    **Returns:** the `Axes`. The imaginary axis, where stability ends, is drawn.

    **Raises:** `ValueError` for shapes that do not fit.
    """
    from matplotlib.colors import LogNorm, Normalize

    spectra: Any = np.asarray(eigenvalues, dtype=complex)
    if spectra.ndim != 2 or spectra.size == 0:
        raise ValueError(f"eigenvalues must be (circuit, mode), got shape {spectra.shape}.")
    order = np.arange(len(spectra)) if values is None else np.asarray(values, dtype=float)
    if order.shape != (len(spectra),):
        raise ValueError(f"values must be (circuit,) = ({len(spectra)},), got {order.shape}.")
    if ax is None:
        _, ax = new_figure(3.2, 2.6)
    ax.axvline(0, color="0.6", lw=0.8, label="imaginary axis")
    limits = {"vmin": order.min(), "vmax": order.max()}
    drawn = ax.scatter(
        spectra.real.ravel(), spectra.imag.ravel(), s=8, lw=0, zorder=3, cmap=SEQUENTIAL,
        c=np.repeat(order, spectra.shape[1]),
        norm=LogNorm(**limits) if log else Normalize(**limits),
    )  # fmt: skip
    if len(spectra) > 1:
        ax.figure.colorbar(drawn, ax=ax, label=name)
    ax.set(xlabel="real part (per unit of time)", ylabel="imaginary part (per unit of time)")
    return ax


def plot_contrast_response(
    contrasts: Any, responses: Any, *, fits: Any = None, names: Any = None, ax: Any = None
) -> Any:
    """Responses over contrast on a logarithmic axis, with fitted curves.

    **Arguments:**

    - `contrasts`: `(contrast,)`, positive.
    - `responses`: `(contrast,)` or `(curve, contrast)`.
    - `fits`: for each curve a result of `contrast_response`, or `None`; drawn as a line through
      dots. Without fits, lines join the responses.
    - `names`: of the curves, for the legend.
    - `ax`: matplotlib `Axes`; a new one by default.

    **Returns:** the `Axes`.

    **Raises:** `ValueError` for shapes that do not fit, and contrasts that are not positive.
    """
    from neurosim.analysis.contrast_response import hyperbolic_ratio

    c, r = np.asarray(contrasts, dtype=float), np.atleast_2d(np.asarray(responses, dtype=float))
    if c.ndim != 1 or r.ndim != 2 or r.shape[1] != len(c):
        raise ValueError(
            f"contrasts (contrast,) and responses (curve, contrast) are needed, got {c.shape} and "
            f"{np.shape(responses)}."
        )
    if not (c > 0).all():
        raise ValueError("contrasts must be positive: the axis is logarithmic.")
    # A fit is itself a tuple.
    fits = [None] * len(r) if fits is None else [fits] if hasattr(fits, "c50") else list(fits)
    legend = _names(names, len(r))
    if len(fits) != len(r):
        raise ValueError(f"fits must be one for each of {len(r)} curve(s), got {len(fits)}.")
    if ax is None:
        _, ax = new_figure(2.8, 2.4)
    order, fine = np.argsort(c), np.geomspace(c.min(), c.max(), 200)
    for curve, fit, name, colour in zip(r, fits, legend, _colours(len(r)), strict=True):
        if fit is None:
            ax.plot(c[order], curve[order], "o-", ms=3, color=colour, label=name)
            continue
        ax.plot(c, curve, "o", ms=3, color=colour, label=name)
        line = hyperbolic_ratio(
            fine, r_max=fit.r_max, c50=fit.c50, exponent=fit.exponent, baseline=fit.baseline
        )
        ax.plot(fine, line, color=colour)
    ax.set(xscale="log", xlabel="contrast", ylabel="response")
    if names is not None:
        ax.legend()
    return ax


def plot_energy(ts: Any, energies: Any, *, parts: Any = None, ax: Any = None) -> Any:
    """Energy along trajectories on a logarithmic axis.

    **Arguments:**

    - `ts`: `(time,)`, in seconds.
    - `energies`: `(time,)` or `(trajectory, time)`, what `normalization_energy` calls `total`.
    - `parts`: named parts of the first trajectory's energy, `(time,)` each, drawn dashed.
    - `ax`: matplotlib `Axes`; a new one by default.

    **Returns:** the `Axes`. Energies of 0 are left out.

    **Raises:** `ValueError` for shapes that do not fit.
    """
    times, values = np.asarray(ts, dtype=float), np.atleast_2d(np.asarray(energies, dtype=float))
    if times.ndim != 1 or values.ndim != 2 or values.shape[1] != len(times):
        raise ValueError(
            f"ts (time,) and energies (trajectory, time) are needed, got {times.shape} and "
            f"{np.shape(energies)}."
        )
    if ax is None:
        _, ax = new_figure(2.8, 2.4)
    for index, each in enumerate(np.where(values > 0, values, np.nan)):
        ax.plot(
            1e3 * times, each, color=PALETTE[0], zorder=2, alpha=1 if len(values) == 1 else 0.6,
            lw=1.2 if len(values) == 1 else 0.8, label="energy" if index == 0 else None,
        )  # fmt: skip
    for index, (name, part) in enumerate(({} if parts is None else parts).items()):
        shown = np.asarray(part, dtype=float)
        if shown.shape != times.shape:
            raise ValueError(f"part {name!r} must be (time,) = {times.shape}, got {shown.shape}.")
        colour = PALETTE[1 + index % (len(PALETTE) - 1)]
        ax.plot(1e3 * times, np.where(shown > 0, shown, np.nan), "--", color=colour, label=name)
    ax.set(yscale="log", xlabel="time (ms)", ylabel="energy")
    if parts:
        # Parts vanish now and then, and would have most of the axis to themselves.
        if (values > 0).any():
            ax.set_ylim(bottom=values[values > 0].min() / 10)
        ax.legend()
    return ax


def plot_power_spectra(
    frequencies: Any, spectra: Any, *, names: Any = None, estimates: Any = None, ax: Any = None
) -> Any:
    """Power spectra on logarithmic axes, each with its highest point where that is a peak.

    **Arguments:**

    - `frequencies`: `(frequency,)`, ascending, positive, in Hz.
    - `spectra`: `(frequency,)` or `(curve, frequency)`, exact ones, drawn as lines.
    - `names`: of the curves, for the legend, such as contrasts.
    - `estimates`: as `spectra`, from simulation or recording, drawn as dots.
    - `ax`: matplotlib `Axes`; a new one by default.

    **Returns:** the `Axes`.

    **Raises:** `ValueError` for shapes that do not fit, and frequencies that are not positive.
    """
    f, power = np.asarray(frequencies, dtype=float), np.atleast_2d(np.asarray(spectra, dtype=float))
    if f.ndim != 1 or power.ndim != 2 or power.shape[1] != len(f):
        raise ValueError(
            f"frequencies (frequency,) and spectra (curve, frequency) are needed, got {f.shape} "
            f"and {np.shape(spectra)}."
        )
    if not (f > 0).all():
        raise ValueError("frequencies must be positive: the axis is logarithmic.")
    dots = None if estimates is None else np.atleast_2d(np.asarray(estimates, dtype=float))
    if dots is not None and dots.shape != power.shape:
        raise ValueError(f"estimates must be {power.shape}, as spectra, got {dots.shape}.")
    if ax is None:
        _, ax = new_figure(2.8, 2.4)
    colours = _colours(len(power))
    for index, (curve, name) in enumerate(zip(power, _names(names, len(power)), strict=True)):
        ax.plot(f, curve, color=colours[index], label=name)
        if dots is not None:
            ax.plot(f, dots[index], ".", ms=2, color=colours[index])
        top = int(curve.argmax())
        if 0 < top < len(f) - 1:
            ax.plot(f[top], curve[top], "v", ms=4, color=colours[index], mec="black", mew=0.5)
    ax.set(xscale="log", yscale="log", xlabel="frequency (Hz)", ylabel="power (per Hz)")
    if names is not None:
        ax.legend()
    return ax


def _colours(n: int) -> Any:
    return [PALETTE[0]] if n == 1 else list(ordered_colours(n))


def _names(names: Any, n: int) -> list[Any]:
    given = [None] * n if names is None else [names] if isinstance(names, str) else list(names)
    if len(given) != n:
        raise ValueError(f"names must be one for each of {n} curve(s), got {len(given)}.")
    return given
