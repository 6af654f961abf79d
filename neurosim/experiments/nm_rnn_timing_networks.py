"""The networks of the interval-timing experiment, and how they are trained."""

import dataclasses
from typing import Any

import optax

from ..models import LSTM, NMRNN, LowRankRNN, VanillaRNN
from ..training import Stage, staged
from .experiment import check_at_least, check_positive


@dataclasses.dataclass(frozen=True)
class Variant:
    """A network to train: its label in tables, and how it is made from a key."""

    label: str
    kind: str
    n_units: int
    rank: int = 3
    rec_scale: str = "unit"
    orthonormal_left: str | None = "positive"
    staged: bool = False


#: Networks of nearly equal numbers of parameters (about 1060). "1/N" is the published low-rank
#: baseline, whose recurrent term is divided by the number of units while the NM-RNN's is not;
#: "unit" is the same network at the NM-RNN's own scale, the fair comparison.
VARIANTS = {
    "nm_rnn": Variant("NM-RNN", "nm_rnn", 100),
    "nm_rnn_staged": Variant("NM-RNN, staged", "nm_rnn", 100, staged=True),
    "low_rank": Variant("low-rank 1/N", "low_rank", 106, rec_scale="1/N"),
    "low_rank_unit": Variant("low-rank unit", "low_rank", 106),
    "nm_rnn_plain": Variant(
        "NM-RNN 1/N, no QR", "nm_rnn", 100, rec_scale="1/N", orthonormal_left=None
    ),
    "low_rank_plain": Variant(
        "low-rank 1/N, no QR", "low_rank", 106, rec_scale="1/N", orthonormal_left=None
    ),
    "nm_rnn_rank1": Variant("NM-RNN, rank 1", "nm_rnn", 100, rank=1),
    "low_rank_rank1": Variant("low-rank unit, rank 1", "low_rank", 108, rank=1),
    "vanilla": Variant("full rank 1/N", "vanilla", 31, rec_scale="1/N"),
    "lstm": Variant("LSTM", "lstm", 15),
}


@dataclasses.dataclass(frozen=True)
class Training:
    """How each network is trained: AdamW on a cosine schedule, gradients clipped elementwise."""

    steps: int = 2000
    """Updates, each on the whole grid of trials."""
    learning_rate: float = 1e-2
    """At the start; a cosine takes it to zero."""
    weight_decay: float = 1e-4
    """Of AdamW, on every parameter."""
    clip: float = 1.0
    """Largest gradient entry."""
    log_every: int = 100
    """Updates of one logging interval."""

    def __post_init__(self):
        check_at_least(self, {"steps": 1, "log_every": 1, "weight_decay": 0})
        check_positive(self, ["learning_rate", "clip"])


def make_model(variant: Variant, key: Any) -> Any:
    """A network of a variant, for the three cues and one output, in ms."""
    orthonormal: Any = variant.orthonormal_left
    scale: Any = variant.rec_scale
    if variant.kind == "nm_rnn":
        return NMRNN.init(
            variant.n_units, variant.rank, 5, 3, 1, key=key, rec_scale=scale,
            orthonormal_left=orthonormal,
        )  # fmt: skip
    if variant.kind == "low_rank":
        return LowRankRNN.init(
            variant.n_units, variant.rank, 3, 1, key=key, rec_scale=scale,
            orthonormal_left=orthonormal,
        )  # fmt: skip
    if variant.kind == "vanilla":
        return VanillaRNN.init(variant.n_units, 3, 1, key=key, rec_scale=scale)
    return LSTM.init(variant.n_units, 3, 1, key=key)


def make_optimizer(train: Training, *, in_stages: bool) -> optax.GradientTransformation:
    """AdamW on a cosine. In stages a quarter of the updates goes to x, a quarter to z, the rest to
    both, each stage with a cosine of its own."""

    def adamw(steps: int) -> optax.GradientTransformation:
        schedule = optax.cosine_decay_schedule(train.learning_rate, steps)
        return optax.chain(
            optax.clip(train.clip), optax.adamw(schedule, weight_decay=train.weight_decay)
        )

    if not in_stages:
        return adamw(train.steps)
    quarter = max(1, train.steps // 4)
    rest = max(1, train.steps - 2 * quarter)
    return staged(
        [
            Stage(quarter, adamw(quarter), lambda m: (m.L, m.R, m.B_x, m.C, m.d)),
            Stage(quarter, adamw(quarter), lambda m: (m.W_z, m.B_z, m.A_z, m.b_z)),
            Stage(rest, adamw(rest)),
        ]
    )
