"""The networks of the multitask experiment, and what each trains when a task is added."""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from ..models import LSTM, NMRNN, LowRankRNN, VanillaRNN
from ..training import match_width, parameter_count


@dataclasses.dataclass(frozen=True)
class Variant:
    """A network: its label in tables, its kind, and its sizes.

    `n_units=None` takes the width that brings it nearest to the parameters of the NM-RNN.
    """

    label: str
    kind: Literal["nm_rnn", "low_rank", "vanilla", "lstm"]
    n_units: int | None
    rank: int = 3
    n_nm: int = 20
    rec_scale: str = "unit"


#: Networks by name. The published widths match the 603 parameters of the neuromodulatory part
#: rather than the whole; `_matched` ones have as many as the whole NM-RNN. "1/N" is the published
#: factor on the recurrent term of the baselines; the NM-RNN has none.
VARIANTS = {
    "nm_rnn": Variant("NM-RNN", "nm_rnn", 100),
    "nm_rnn_small": Variant("NM-RNN, M = 5, K = 4", "nm_rnn", 100, rank=4, n_nm=5),
    "low_rank": Variant("low-rank 1/N", "low_rank", 100, rec_scale="1/N"),
    "low_rank_unit": Variant("low-rank unit", "low_rank", 100),
    "low_rank_matched": Variant("low-rank unit, matched", "low_rank", None),
    "vanilla": Variant("full rank 1/N", "vanilla", 18, rec_scale="1/N"),
    "vanilla_matched": Variant(
        "full rank 1/sqrt(N), matched", "vanilla", None, rec_scale="1/sqrt(N)"
    ),
    "lstm": Variant("LSTM", "lstm", 8),
    "lstm_matched": Variant("LSTM, matched", "lstm", None),
}


class Channels(NamedTuple):
    """Numbers of input channels with a stimulus, of context channels, and of outputs."""

    sensory: int
    contexts: int
    outputs: int


def make_model(variant: Variant, channels: Channels, key: Any) -> Any:
    """A network of a variant; in the NM-RNN the context reaches z alone. Time constants in ms."""
    return _build(variant, width(variant, channels), channels, key)


def width(variant: Variant, channels: Channels) -> int:
    """The number of units of a variant, found where it is not given."""
    if variant.n_units is not None:
        return variant.n_units
    key = jax.random.key(0)
    target = parameter_count(make_model(VARIANTS["nm_rnn"], channels, key))
    found, _ = match_width(
        lambda n: _build(variant, max(n, variant.rank), channels, key), target, largest=1024
    )
    return found


def _build(variant: Variant, n_units: int, channels: Channels, key: Any) -> Any:
    scale: Any = variant.rec_scale
    sensory, contexts, n_out = channels
    n_in = sensory + contexts
    if variant.kind == "nm_rnn":
        return NMRNN.init(
            n_units, variant.rank, variant.n_nm, sensory, n_out, key=key, n_context=contexts,
            rec_scale=scale,
        )  # fmt: skip
    if variant.kind == "low_rank":
        return LowRankRNN.init(n_units, variant.rank, n_in, n_out, key=key, rec_scale=scale)
    if variant.kind == "vanilla":
        return VanillaRNN.init(n_units, n_in, n_out, key=key, rec_scale=scale)
    return LSTM.init(n_units, n_in, n_out, key=key)


_CONTEXT_WEIGHTS = {"nm_rnn": "B_z", "low_rank": "B", "vanilla": "B", "lstm": "W_in"}


def add_context(kind: str, model: Any, weight: float = 0.1) -> Any:
    """The network with one more context channel, last, of constant weights as published."""
    name = _CONTEXT_WEIGHTS[kind]
    weights = getattr(model, name)
    column = jnp.full((weights.shape[0], 1), weight, weights.dtype)
    return dataclasses.replace(model, **{name: jnp.concatenate([weights, column], axis=1)})


#: What trains in the transfer, by the kind of network: label and leaves.
TRANSFERS: dict[str, dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "nm_rnn": {
        "z": ("z-network", lambda m: (m.W_z, m.B_z, m.A_z, m.b_z)),
        "inputs": ("input weights", lambda m: (m.B_x, m.B_z)),
    },
    "low_rank": {"inputs": ("input weights", lambda m: m.B)},
    "vanilla": {"inputs": ("input weights", lambda m: m.B)},
    "lstm": {"inputs": ("input weights", lambda m: m.W_in)},
}
