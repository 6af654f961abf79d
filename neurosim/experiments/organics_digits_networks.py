"""The networks of the digit experiment, the images they see, and how they are trained."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from ..models import GRU, LSTM, SSN
from ..models.organics_cell import ORGaNICsCell
from ..models.static_organics import StaticORGaNICs
from ..tasks.digit_files import read_mnist, sklearn_digits, split_digits
from ..tasks.digits import Digits
from ..tasks.glyph_digits import make_glyph_digits
from .experiment import check_at_least, check_positive

#: How long the SSN sees an image: 60 Euler steps of a tenth of the excitatory time constant.
SSN_STEPS = 60


@dataclasses.dataclass(frozen=True)
class Training:
    """Adam on the cross-entropy; gradients are not clipped."""

    epochs: int = 30
    """Times as many images as there are, drawn with replacement."""
    batch_size: int = 128
    """Images an update."""
    learning_rate: float = 1e-2
    """Of Adam, at the start."""
    weight_decay: float = 1e-5
    """L2 penalty, added to the gradient."""
    decay: float = 1.0
    """Factor on the learning rate ..."""
    decay_every: int = 30
    """... every so many epochs."""
    log_every: int = 1
    """Updates of one logging interval, over which norms of gradients are averaged; with 1 their
    largest is exact."""

    def __post_init__(self):
        check_at_least(
            self,
            {"epochs": 1, "batch_size": 1, "weight_decay": 0, "decay_every": 1, "log_every": 1},
        )
        check_positive(self, ["learning_rate", "decay"])

    def updates_per_epoch(self, n_images: int) -> int:
        """Updates that see as many images as there are."""
        return max(1, n_images // self.batch_size)

    def optimizer(self, n_images: int) -> optax.GradientTransformation:
        """Adam with a staircase for its rate."""
        schedule = optax.exponential_decay(
            self.learning_rate,
            self.decay_every * self.updates_per_epoch(n_images),
            self.decay,
            staircase=True,
        )
        return optax.chain(optax.add_decayed_weights(self.weight_decay), optax.adam(schedule))


class Network(NamedTuple):
    """A network by name.

    - `label`: for tables and figures.
    - `make`: from a key, input channels, the config and, for a static network, the scale of its
      weights.
    - `hold_steps`, `dt`: steps that the image is held for, and their length in s where it has time
      constants.
    - `has_spectrum`: whether it is the rest point of circuits that have Jacobians.
    """

    label: str
    make: Callable[..., Any]
    hold_steps: int = 1
    dt: float = 1.0
    has_spectrum: bool = False


def _static_organics(**options: Any) -> Callable[..., Any]:
    def make(key: Any, n_in: int, config: Any, scale: float) -> Any:
        return StaticORGaNICs.init(
            n_in, config.static_units, 10, key=key, weight_scale=scale, **options
        )

    return make


def _ssn(key: Any, n_in: int, config: Any, scale: float) -> Any:
    n_inhibitory = max(1, config.static_units // 5)
    return SSN.init(
        config.static_units - n_inhibitory, n_inhibitory, n_in, 10, key=key, scale=scale
    )


#: One step for an image; the SSN settles on it. `scale` is the g of their normalization or
#: recurrent weights.
STATIC: dict[str, Network] = {
    "organics": Network("ORGaNICs", _static_organics(), has_spectrum=True),
    "organics_general": Network(
        "ORGaNICs, general $W_r$", _static_organics(recurrence="spectral"), has_spectrum=True
    ),
    "ssn": Network("SSN", _ssn, hold_steps=SSN_STEPS, dt=0.002),
}


def _cell(*, learn_tau: bool, identity: bool) -> Callable[..., Any]:
    def make(key: Any, n_in: int, config: Any) -> Any:
        cell = ORGaNICsCell.init(
            config.sequence_units,
            n_in,
            10,
            key=key,
            learn_tau=learn_tau,
            kappa_max=config.kappa_max,
        )
        if identity:
            cell = eqx.tree_at(lambda c: c.W_r, cell, jnp.eye(config.sequence_units))
        return cell

    return make


def _gated(kind: Any) -> Callable[..., Any]:
    return lambda key, n_in, config: kind.init(config.sequence_units, n_in, 10, key=key)


#: A step for a row or a pixel.
SEQUENCE: dict[str, Network] = {
    "learned": Network("ORGaNICs", _cell(learn_tau=True, identity=False)),
    "fixed": Network("ORGaNICs, fixed tau", _cell(learn_tau=False, identity=False)),
    "learned_identity": Network("ORGaNICs from I", _cell(learn_tau=True, identity=True)),
    "fixed_identity": Network("ORGaNICs from I, fixed tau", _cell(learn_tau=False, identity=True)),
    "gru": Network("GRU", _gated(GRU)),
    "lstm": Network("LSTM", _gated(LSTM)),
}


class DigitParts(NamedTuple):
    """Images and labels to train on, to choose the best network by, and to test it on."""

    train: Any
    validation: Any
    test: Any

    def tasks(self, **options: Any) -> "DigitParts":
        """Each part as a task."""
        return DigitParts(*(Digits(*part, **options) for part in self))


def load_digits(config: Any) -> DigitParts:
    """The images that a config names.

    **Raises:** `ValueError` for MNIST without a path, and for parts that are more than there is.
    """
    if config.data == "glyphs":
        images, labels = make_glyph_digits(
            sum(config.parts), config.size, key=jax.random.key(config.split_seed)
        )
        return DigitParts(*split_digits(images, labels, config.parts, seed=config.split_seed))
    if config.data == "sklearn":
        return DigitParts(*split_digits(*sklearn_digits(), config.parts, seed=config.split_seed))
    if not config.mnist:
        raise ValueError(
            "data is 'mnist', and mnist names no folder: one with train-images-idx3-ubyte.gz, "
            "train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz "
            "is needed, or an npz file; nothing is downloaded. data as 'glyphs' or 'sklearn' "
            "needs no files."
        )
    n_train, n_validation, n_test = config.parts
    train, validation = split_digits(
        *read_mnist(config.mnist, "train"), (n_train, n_validation), seed=config.split_seed
    )
    (test,) = split_digits(*read_mnist(config.mnist, "test"), (n_test,), seed=config.split_seed)
    return DigitParts(train, validation, test)
