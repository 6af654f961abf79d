"""What normalization circuits show: contrast, masks, surround, onset, rhythm and memory."""

import dataclasses
from typing import Any

import jax

from .experiment import Experiment, Result, announce, check_at_least, check_positive, text_table
from .organics_phenomena_figures import plot
from .organics_responses import (
    contrast_and_masks,
    onset_responses,
    rhythm_under_noise,
    working_memory,
)
from .organics_surround import plaid_summation, size_tuning, supersaturation
from .run_directory import RunDirectory


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
            ("contrast and masks", contrast_and_masks),
            ("onset", onset_responses),
            ("noise", rhythm_under_noise),
            ("working memory", working_memory),
            ("surround", size_tuning),
            ("plaids", plaid_summation),
            ("the supralinear network", supersaturation),
        ):
            announce(name, progress)
            found, lines = part(config)
            arrays |= found
            rows += lines
            summary |= {line[0]: {"measured": line[1], "expected": line[2]} for line in lines}
    table = text_table(["phenomenon", "measured", "expected"], rows)
    return Result(config, summary, arrays, table)


EXPERIMENT = Experiment(
    name="organics_phenomena",
    summary="ORGaNICs and the SSN: contrast, masks, surround, onset, gamma rhythm, working memory",
    config=Config,
    presets={"quick": Config(duration=5.0), "paper": Config(duration=100.0)},
    run=run,
    plot=plot,
)
