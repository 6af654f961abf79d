"""Contrast, onset, rhythm and memory in normalization circuits, beside their closed forms."""

import warnings
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import scipy.signal

from ..analysis import (
    contrast_response,
    cross_orientation_suppression,
    noise_spectrum,
    oscillator_form,
)
from ..models import GatedIntegrator, ORGaNICs, normalization_ring, rotation_weights
from ..simulate import simulate

#: Semisaturation and gains of all ORGaNICs here, as published.
SIGMA, GAIN = 0.1, 0.5


def _grating(contrast: float, angle: int) -> np.ndarray:
    x = np.zeros(360)
    x[angle] = contrast
    return x


def contrast_and_masks(config: Any) -> tuple[dict[str, Any], list[list[str]]]:
    """Squared rates of the neuron that prefers the grating, alone and under masks."""
    ring = normalization_ring(config.n_ring)
    squares, total = [], []
    for mask in config.masks:
        with warnings.catch_warnings():
            # Mask and grating together may be longer than 1; this ring stays stable.
            warnings.filterwarnings("ignore", "z is longer than 1")
            states = [
                ring.fixed_point(jnp.asarray(_grating(c, 0) + _grating(mask, 180)))
                for c in config.contrasts
            ]
        y = np.stack([np.asarray(state.y) for state in states])
        squares.append(y[:, 0] ** 2)
        total.append(np.sum(y**2, axis=1))
    squares, total = np.array(squares), np.array(total)
    c = np.array(config.contrasts)
    expected = c**2 / (SIGMA**2 + c**2)
    fit = contrast_response(squares[0], c)
    worst = np.max(np.abs(total[0] / expected - 1))
    rows = [
        ["contrast at half the response of the ring", f"{fit.c50:.4f}", f"{SIGMA:.4f} (sigma)"],
        ["exponent of the contrast response", f"{fit.exponent:.4f}", "2"],
        ["largest deviation of summed squares from c^2 / (sigma^2 + c^2)", f"{worst:.1e}", "0"],
    ]
    at = int(np.argmin(np.abs(c - 0.1)))
    for mask, curve in zip(config.masks[1:], squares[1:]):
        measured = cross_orientation_suppression(squares[0, at], curve[at])
        wanted = 1 - (SIGMA**2 + c[at] ** 2) / (SIGMA**2 + c[at] ** 2 + mask**2)
        rows.append([f"suppression at contrast {c[at]:g} by a mask of {mask:g}",
                     f"{measured:.5f}", f"{wanted:.5f}"])  # fmt: skip
    return {
        "contrast.c": c,
        "contrast.squares": squares,
        "contrast.masks": np.array(config.masks),
    }, rows


def onset_responses(config: Any) -> tuple[dict[str, Any], list[list[str]]]:
    """The ring from rest when gratings appear: overshoot before the normalized response."""
    ring = normalization_ring(config.n_ring)
    steps = round(0.06 / config.dt)
    inputs = np.stack([np.tile(_grating(c, 0), (steps, 1)) for c in config.shown_contrasts])
    run = simulate(ring, jnp.asarray(inputs), dt=config.dt, solver=diffrax.Tsit5(), save="states")
    y = np.asarray(run.states.y)[..., 0]
    rows = [
        [f"onset at contrast {c:g}: peak, its time (ms), steady state",
         f"{trace.max():.4f}, {1e3 * run.ts[trace.argmax()]:.2f}, {trace[-1]:.4f}", "-"]
        for c, trace in zip(config.shown_contrasts, y)
    ]  # fmt: skip
    return {"onset.ts": np.asarray(run.ts), "onset.y": y,
            "onset.contrasts": np.array(config.shown_contrasts)}, rows  # fmt: skip


def rhythm_under_noise(config: Any) -> tuple[dict[str, Any], list[list[str]]]:
    """Power spectra of one pair of neurons under noise, exact and simulated."""
    frequencies = np.linspace(1, 150, 597)
    exact, simulated, rows = [], [], []
    steps = round(config.duration / config.dt)
    for index, c in enumerate(config.shown_contrasts):
        circuit = ORGaNICs.from_parameters(W=1.0, b=GAIN, b0=GAIN, sigma=SIGMA)
        rest = circuit.fixed_point(jnp.array([c]))
        state = circuit.initial_state()._replace(y=rest.y, a=rest.a)
        jacobian = np.asarray(circuit.jacobian(state))
        amplitude = config.noise / np.sqrt(0.002)
        spectrum = np.real(noise_spectrum(jacobian, frequencies, amplitude=amplitude)[:, 0, 0])
        exact.append(spectrum)
        run = simulate(
            circuit, jnp.full((steps, 1), c), dt=config.dt, initial_state=state,
            noise=circuit.noise(config.noise), key=jax.random.key(config.seed + index),
            save="states",
        )  # fmt: skip
        y = np.asarray(run.states.y)[:, 0]
        f, power = scipy.signal.welch(y, 1 / config.dt, nperseg=max(len(y) // 15, 64))
        # One-sided, where the exact one is two-sided. With the mean goes the slowest power.
        estimate = np.interp(frequencies, f, power / 2)
        simulated.append(np.where(frequencies >= 2 * f[1], estimate, np.nan))
        form = oscillator_form(
            [c], W=[[1.0]], sigma=SIGMA, b=GAIN, b0=GAIN, tau_y=0.002, tau_a=0.002
        )
        top = int(np.argmax(spectrum))
        peak = f"{frequencies[top]:.2f}" if top > 0 else "none"
        rows.append([f"peak of the power of y at contrast {c:g} (Hz)", peak,
                     f"{form.damped_frequencies[0]:.2f} (ringing)"])  # fmt: skip
    between = (frequencies > 10) & (frequencies < 100)
    ratio = np.nanmean(np.array(simulated)[:, between] / np.array(exact)[:, between])
    rows.append(["simulated power over exact, mean over 10 to 100 Hz", f"{ratio:.3f}", "1"])
    return {"rhythm.f": frequencies, "rhythm.exact": np.array(exact),
            "rhythm.simulated": np.array(simulated),
            "rhythm.contrasts": np.array(config.shown_contrasts)}, rows  # fmt: skip


def working_memory(config: Any) -> tuple[dict[str, Any], list[list[str]]]:
    """Load for 100 ms, hold for 300, clear for 100; the same with weights that rotate."""
    tau, dt, omega = 0.01, 1e-3, 2 * np.pi * 10.0
    load, hold, clear = 100, 300, 100
    gates = np.repeat([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]], [load, hold, clear], axis=0)
    arrays: dict[str, Any] = {}
    rows = []
    options = {"dt": dt, "solver": diffrax.Tsit5(), "substeps": 4, "save": "states"}
    targets = np.array([1.0, -0.5])
    z = np.tile(targets, (len(gates), 1))
    still = GatedIntegrator.from_parameters(W_r=np.eye(2), tau=tau)
    turning = GatedIntegrator.from_parameters(W_r=rotation_weights(omega, tau=tau), tau=tau)
    for name, model in (("still", still), ("turning", turning)):
        inputs = jnp.asarray(np.concatenate([z, gates], axis=1))
        run = simulate(model, inputs, **options)
        arrays[f"memory.{name}"] = np.asarray(run.states)
    arrays["memory.ts"] = np.asarray(run.ts)
    held = arrays["memory.still"]
    rows.append(["loaded after 100 ms, share of the input", f"{held[load - 1, 0]:.7f}",
                 f"{1 - np.exp(-100 / 20):.7f}"])  # fmt: skip
    drift = np.abs(held[load + hold - 1] - held[load - 1]).max()
    rows.append(["change while held for 300 ms", f"{drift:.1e}", "0"])
    left = held[-1, 0] / held[load - 1, 0]
    rows.append(["left after 100 ms of clearing", f"{left:.7f}", f"{np.exp(-100 / 20):.7f}"])
    turned = arrays["memory.turning"][load - 1 : load + hold]
    angle = np.unwrap(np.arctan2(turned[:, 1], turned[:, 0]))
    turns = (angle[-1] - angle[0]) / (2 * np.pi * hold * dt)
    rows.append(["turns per second of an oscillating memory", f"{turns:.4f}", "10"])
    radius = np.linalg.norm(turned, axis=1)
    rows.append(
        ["its length at the end over that at the start", f"{radius[-1] / radius[0]:.7f}", "1"]
    )
    return arrays, rows
