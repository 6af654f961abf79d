"""What normalization circuits show: contrast, masks, surround, onset, rhythm and memory."""

import dataclasses
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
    normalization_equation,
    oscillator_form,
    summation_index,
    surround_suppression,
)
from ..models import (
    SSN,
    GatedIntegrator,
    ORGaNICs,
    line_input,
    normalization_ring,
    ring_input,
    rotation_weights,
    ssn_line,
    ssn_orientation_ring,
    ssn_two_population,
)
from ..simulate import simulate
from .experiment import Experiment, Result, announce, check_at_least, check_positive, text_table
from .organics_phenomena_figures import plot
from .run_directory import RunDirectory

#: Semisaturation and gains of all ORGaNICs here, as published.
SIGMA, GAIN = 0.1, 0.5


@dataclasses.dataclass(frozen=True)
class Config:
    """Stimuli and how finely they are sampled; times in s."""

    n_ring: int = 36
    """Neurons of the ring; 360 angles."""
    contrasts: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.15, 0.25, 0.4, 0.6, 1.0)
    """Of gratings."""
    masks: tuple[float, ...] = (0.0, 0.1, 0.25, 0.5)
    """Contrasts of the mask at right angles."""
    shown_contrasts: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0)
    """Of onset responses and power spectra."""
    noise: float = 0.001
    """Amplitude eta of the noise, eta / sqrt(tau) for each neuron; weak enough for a at the lowest
    contrast, about which the exact spectra are linear."""
    duration: float = 20.0
    """Of the noisy simulation (s)."""
    dt: float = 1e-4
    """Time step of it and of onset responses (s)."""
    seed: int = 0
    """Of the noise."""

    def __post_init__(self):
        check_at_least(self, {"n_ring": 8, "seed": 0, "noise": 0})
        check_positive(self, ["duration", "dt"])
        if self.noise == 0:
            raise ValueError("noise must be positive: without it there is no power.")
        if len(set(self.contrasts)) < 4 or not all(c > 0 for c in self.contrasts):
            raise ValueError("contrasts must be four different positive ones or more.")
        if not self.masks or self.masks[0] != 0 or not all(c >= 0 for c in self.masks):
            raise ValueError("masks must begin with 0 and not be negative.")
        if not self.shown_contrasts or not all(c > 0 for c in self.shown_contrasts):
            raise ValueError("shown_contrasts must be positive.")


def run(
    config: Config,
    *,
    directory: RunDirectory | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Result:
    """Classic responses of the circuits, each beside its closed form where it has one.

    Well under a minute, so that an interrupted run starts again.

    **Returns:** a `Result` whose table has what was measured and what the formula says.

    **Reference:** Rawat, Heeger & Martiniani (2024), NeurIPS 37; Heeger & Mackey (2019), PNAS 116;
    Rubin, Van Hooser & Miller (2015), Neuron 85.
    """
    del directory, resume
    rows: list[list[str]] = []
    arrays: dict[str, Any] = {}
    summary: dict[str, Any] = {}
    with jax.enable_x64(True):
        for name, part in (
            ("contrast and masks", _contrast),
            ("onset", _onset),
            ("noise", _rhythm),
            ("working memory", _memory),
            ("surround", _surround),
            ("plaids", _plaids),
            ("the supralinear network", _supralinear),
        ):
            announce(name, progress)
            found, lines = part(config)
            arrays |= found
            rows += lines
            summary |= {line[0]: {"measured": line[1], "expected": line[2]} for line in lines}
    table = text_table(["phenomenon", "measured", "expected"], rows)
    return Result(config, summary, arrays, table)


def _grating(contrast: float, angle: int) -> np.ndarray:
    x = np.zeros(360)
    x[angle] = contrast
    return x


def _contrast(config: Config) -> tuple[dict[str, Any], list[list[str]]]:
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


def _onset(config: Config) -> tuple[dict[str, Any], list[list[str]]]:
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


def _rhythm(config: Config) -> tuple[dict[str, Any], list[list[str]]]:
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


def _memory(config: Config) -> tuple[dict[str, Any], list[list[str]]]:
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


def _surround(config: Config) -> tuple[dict[str, Any], list[list[str]]]:
    """Size tuning: a pool wider than the drive in ORGaNICs, recurrent inhibition in the SSN."""
    del config
    x = np.arange(-40, 41) * 0.5
    d = np.abs(x[:, None] - x)
    narrow, wide = (np.exp(-(d**2) / (2 * s**2)) for s in (1.0, 5.0))
    sizes = np.array([0.5, 1, 2, 3, 4, 6, 9, 13, 18, 27])
    contrasts = np.array([0.1, 1.0])
    drive = np.stack([
        c * np.stack([(narrow / narrow.sum(1, keepdims=True)) @ (np.abs(x) <= size / 2)
                      for size in sizes])
        for c in contrasts
    ])  # fmt: skip
    pool = wide / wide.sum(1, keepdims=True)
    centre = len(x) // 2
    y = normalization_equation(drive, W=pool, sigma=SIGMA, b=GAIN).y[..., centre] ** 2
    line = ssn_line()
    fixed = (1.0, 3.0, 9.0, 27.0)
    ssn = np.array([line.fixed_point(line_input(50.0, length)).r for length in fixed])
    tuned = [surround_suppression(sizes, curve) for curve in y]
    rows = [
        [f"ORGaNICs, preferred size and suppression at contrast {c:g}",
         f"{t.preferred_size:g} deg, {t.index:.3f}", "smaller at high contrast"]
        for c, t in zip(contrasts, tuned)
    ]  # fmt: skip
    published = "9.229033, 9.873928, 7.149928, 0.026749"
    rows.append(["SSN line, E at the centre, sizes 1, 3, 9, 27 deg",
                 ", ".join(f"{r:.6f}" for r in ssn[:, 5]), published])  # fmt: skip
    return {"surround.sizes": sizes, "surround.organics": y, "surround.contrasts": contrasts,
            "surround.ssn_sizes": np.array(fixed), "surround.ssn": ssn[:, 5]}, rows  # fmt: skip


def _plaids(config: Config) -> tuple[dict[str, Any], list[list[str]]]:
    """Summation index of orthogonal gratings of equal contrast, in both circuits."""
    del config
    contrasts = np.array([2.0, 5.0, 10.0, 20.0, 50.0])
    ring = ssn_orientation_ring()
    at = 45
    index = []
    for c in contrasts:
        one, other, both = (
            ring.fixed_point(ring_input(np.asarray(cs), np.asarray(angles))).r[at]
            for cs, angles in ((c, 45.0), (c, 135.0), ((c, c), (45.0, 135.0)))
        )
        index.append(float(summation_index(one, other, both)))
    # The same in the closed form of normalization: drives do not mix, the pool does.
    share = np.geomspace(0.01, 1, 41)
    alone = share**2 / (SIGMA**2 + share**2)
    together = share**2 / (SIGMA**2 + 2 * share**2)
    model = summation_index(alone, np.zeros_like(alone), together)
    wanted = {5.0: 1.3433, 10.0: 0.7803, 20.0: 0.6526, 50.0: 0.6951}
    rows = [
        [f"SSN ring, summation index at contrast {c:g}", f"{i:.4f}", f"{wanted[c]:.4f}"]
        for c, i in zip(contrasts, index) if c in wanted
    ]  # fmt: skip
    arrays = {
        "plaids.contrasts": contrasts,
        "plaids.ssn": np.array(index),
        "plaids.organics_contrasts": share,
        "plaids.organics": np.asarray(model),
    }
    return arrays, rows


def _supralinear(config: Config) -> tuple[dict[str, Any], list[list[str]]]:
    """Rates of the two-population SSN against its input, and the gain of its excitation."""
    del config
    network: SSN = ssn_two_population()
    inputs = np.linspace(0.5, 50, 100)
    rests = [network.fixed_point(np.array([h, h])) for h in inputs]
    rates = np.stack([rest.r for rest in rests])
    gains = np.array([
        network.excitatory_gain(np.array([h, h]), rest.r) for h, rest in zip(inputs, rests)
    ])  # fmt: skip
    crossing = inputs[np.argmax(gains > 0)]
    peak = int(np.argmax(rates[:, 0]))
    rows = [
        ["SSN, input from which E alone is unstable", f"{crossing:.1f}", "between 1 and 2"],
        ["SSN, input at which E is largest", f"{inputs[peak]:.1f}", "below 50: it supersaturates"],
        ["SSN, rates at input 50", f"{rates[-1, 0]:.4f}, {rates[-1, 1]:.4f}", "6.2104, 81.8664"],
    ]  # fmt: skip
    return {"ssn.inputs": inputs, "ssn.rates": rates, "ssn.gains": gains}, rows


EXPERIMENT = Experiment(
    name="organics_phenomena",
    summary="ORGaNICs and the SSN: contrast, masks, surround, onset, gamma rhythm, working memory",
    config=Config,
    presets={"quick": Config(duration=5.0), "paper": Config(duration=100.0)},
    run=run,
    plot=plot,
)
