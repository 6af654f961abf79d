"""Digits: do divisively normalizing circuits train without clipping, where an SSN diverges?"""

import dataclasses
import tempfile
from typing import Any

import numpy as np

from .experiment import Experiment, Result, check_at_least, spread, text_table
from .network_training import RunOptions, check_names
from .organics_digits_figures import plot
from .organics_digits_networks import SEQUENCE, STATIC, Training, load_digits
from .organics_digits_training import Trained, train_seeds
from .run_directory import RunDirectory

_DATA = ("glyphs", "sklearn", "mnist")
_PRESENTATIONS = ("rows", "pixels")


@dataclasses.dataclass(frozen=True)
class Config:
    """Which images, which networks see them at once, and which row by row."""

    data: str = "sklearn"
    """`glyphs`, drawn here; `sklearn`, the 8 x 8 digits that come with scikit-learn; or `mnist`."""
    mnist: str = ""
    """Folder of the files of MNIST, or its npz file; nothing is downloaded."""
    parts: tuple[int, int, int] = (1200, 147, 450)
    """Images to train on, to choose the best network by, and to test it on."""
    size: int = 14
    """Height and width of glyphs, in pixels."""
    split_seed: int = 73
    """Of the parts, and of glyphs."""
    static: tuple[str, ...] = ("organics", "organics_general", "ssn")
    """Networks that see the image at once, by name; may be none."""
    scales: tuple[float, ...] = (1.0, 5.0, 20.0, 50.0)
    """Factors g on the normalization weights, or on the recurrent weights of the SSN, at the
    start."""
    static_units: int = 50
    """Principal neurons; of an SSN all, a fifth of them inhibitory."""
    sequence: tuple[str, ...] = tuple(SEQUENCE)
    """Networks that see a sequence, by name; may be none."""
    present: str = "rows"
    """A step for each of the `rows` or `pixels`."""
    permuted: bool = False
    """Whether the pixels are in a random order, the same for all images."""
    sequence_units: int = 64
    """Units of those networks."""
    kappa_max: tuple[float, float, float] = (0.5, 0.2, 0.8)
    """Largest time step over time constant that can be learned, of y, of a, and of both gains."""
    seeds: int = 3
    """Networks of each kind."""
    spectra: int = 100
    """Test images whose Jacobian is looked at."""
    seed: int = 0
    """Root of all other randomness."""
    train_static: Training = dataclasses.field(default_factory=Training)
    train_sequence: Training = dataclasses.field(
        default_factory=lambda: Training(epochs=40, batch_size=64, decay=0.8, decay_every=4)
    )

    def __post_init__(self):
        for field, known in (("data", _DATA), ("present", _PRESENTATIONS)):
            if getattr(self, field) not in known:
                raise ValueError(
                    f"{field} must be one of {', '.join(known)}, got {getattr(self, field)!r}."
                )
        check_at_least(
            self,
            {"seeds": 1, "seed": 0, "split_seed": 0, "size": 7, "spectra": 1, "static_units": 2,
             "sequence_units": 1},
        )  # fmt: skip
        if not self.static and not self.sequence:
            raise ValueError("static and sequence are both empty: there is no network to train.")
        if self.static:
            check_names("static", self.static, STATIC)
        if self.sequence:
            check_names("sequence", self.sequence, SEQUENCE)
        if min(self.parts) < 1:
            raise ValueError(f"parts must each be at least 1 image, got {self.parts}.")
        for name in ("scales", "kappa_max"):
            values = getattr(self, name)
            if not values or not all(np.isfinite(v) and v > 0 for v in values):
                raise ValueError(f"{name} must hold positive numbers, got {values}.")
        if max(self.kappa_max) > 1:
            raise ValueError(f"kappa_max must be at most 1, got {self.kappa_max}.")


def run(
    config: Config,
    *,
    directory: RunDirectory | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Result:
    """Train every network on the digits, without clipping, and test the best by validation.

    **Arguments:** as `neurosim.experiments.run_experiment` passes them.

    **Returns:** a `Result` whose table has, for every network, the share of test images it gets
    right, the largest norm of its gradient, the largest real part of the eigenvalues of its
    Jacobian in units of one over tau, and the update at which its numbers stopped being finite;
    median over seeds and range. A network that diverged has no accuracy. That is also said of a
    layer with learned W_r whose circuit has no rest point that can be found for some image.

    **Raises:** `ValueError` for MNIST without its files.

    **Reference:** Rawat, Heeger & Martiniani (2024), Unconditional stability of a recurrent neural
    circuit implementing divisive normalization, NeurIPS 37.
    """
    if directory is None:
        # What a diverged training went through is in its files only.
        with tempfile.TemporaryDirectory() as folder:
            directory = RunDirectory(folder, EXPERIMENT.name, config, resume=False)
            return run(config, directory=directory, progress=progress)
    options = RunOptions(directory, resume, progress)
    digits = load_digits(config)
    arrays: dict[str, Any] = {}
    networks: dict[str, Any] = {}
    rows = []
    for name in config.static:
        network = STATIC[name]
        tasks = digits.tasks(hold_steps=network.hold_steps, dt=network.dt)
        optimizer = config.train_static.optimizer(len(digits.train.labels))
        for scale in config.scales:
            full = f"{name}-g{scale:g}"
            found, n = train_seeds(
                full, network, tasks, config.train_static, optimizer, config, options, (scale,)
            )
            label = f"{network.label}, g = {scale:g}"
            networks[full] = _summary(label, found, n)
            arrays |= {f"{full}.{k}": v for k, v in _arrays(found).items()}
            rows.append(_row(networks[full]))
    for name in config.sequence:
        network = SEQUENCE[name]
        tasks = digits.tasks(
            present=config.present, permutation_seed=config.split_seed if config.permuted else None
        )
        optimizer = config.train_sequence.optimizer(len(digits.train.labels))
        found, n = train_seeds(
            name, network, tasks, config.train_sequence, optimizer, config, options, ()
        )
        networks[name] = _summary(f"{network.label}, {config.present}", found, n)
        arrays |= {f"{name}.{k}": v for k, v in _arrays(found).items()}
        rows.append(_row(networks[name]))
    header = [
        "network", "parameters", "test accuracy (%)", "largest gradient norm",
        "tau max Re(lambda)", "diverged",
    ]  # fmt: skip
    table = (
        f"{_named(config)}, {config.parts[0]} images to train on and {config.parts[2]} to test; "
        f"median [range] of {config.seeds} seeds. No gradient was clipped.\n\n"
        + text_table(header, rows)
    )
    return Result(config, {"networks": networks}, arrays, table)


def _named(config: Config) -> str:
    return {
        "glyphs": f"Glyphs of {config.size} x {config.size} pixels",
        "sklearn": "Handwritten digits of 8 x 8 pixels",
        "mnist": "MNIST",
    }[config.data]


def _arrays(found: list[Trained]) -> dict[str, np.ndarray]:
    arrays = {
        name: np.stack([getattr(one, name) for one in found])
        for name in ("losses", "gradient_norms", "validation")
    }
    known = [one.real_parts for one in found if one.real_parts is not None]
    if known:
        # (seed, before and after training, image)
        arrays["real_parts"] = np.stack(known)
    return arrays


def _summary(label: str, found: list[Trained], n_parameters: int) -> dict[str, Any]:
    norms = [
        one.gradient_norms[np.isfinite(one.gradient_norms)].max(initial=-np.inf) for one in found
    ]
    return {
        "label": label,
        "parameters": n_parameters,
        "test_accuracy": [one.accuracy for one in found],
        "largest_gradient_norm": [float(n) if np.isfinite(n) else np.nan for n in norms],
        "diverged_at": [one.diverged for one in found],
        "largest_real_part": [
            np.nan if one.real_parts is None else float(one.real_parts[1].max()) for one in found
        ],
    }


def _row(summary: dict[str, Any]) -> list[str]:
    diverged = [step for step in summary["diverged_at"] if step]
    return [
        summary["label"],
        str(summary["parameters"]),
        _percent(summary["test_accuracy"]),
        spread(summary["largest_gradient_norm"]),
        spread(summary["largest_real_part"]),
        f"NaN in update {', '.join(map(str, diverged))}" if diverged else "-",
    ]


def _percent(shares: list[float]) -> str:
    """As `spread`, with one decimal."""
    known = 100 * np.asarray(shares, float)
    known = known[np.isfinite(known)]
    if known.size == 0:
        return "-"
    around = f" [{known.min():.1f}, {known.max():.1f}]" if known.size > 1 else ""
    return f"{np.median(known):.1f}{around}"


EXPERIMENT = Experiment(
    name="organics_digits",
    summary="Digits by ORGaNICs without clipping, beside an SSN, GRU and LSTM",
    config=Config,
    presets={
        "quick": Config(
            static=("organics", "ssn"),
            scales=(1.0, 50.0),
            sequence=("learned", "fixed", "gru", "lstm"),
            seeds=1,
            train_sequence=Training(epochs=20, batch_size=64, decay=0.8, decay_every=4),
        ),
        "small": Config(),
        # MNIST, whose files the user must have: `mnist` is their folder.
        "paper": Config(
            data="mnist",
            parts=(57_000, 3_000, 10_000),
            static=("organics", "organics_general"),
            scales=(1.0,),
            present="pixels",
            sequence=("learned", "fixed", "lstm"),
            kappa_max=(0.05, 0.01, 0.1),
            seeds=1,
            train_static=Training(epochs=200, batch_size=256, learning_rate=1e-3, log_every=222),
            train_sequence=Training(
                epochs=300, batch_size=256, decay=0.8, decay_every=30, log_every=222
            ),
        ),
    },
    run=run,
    plot=plot,
)
