"""The tasks that second-order forward-mode training was published on, small and as published."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax

from ..models import (
    BottleneckRNN,
    FeedbackReservoir,
    LeakyRNN,
    LinearMap,
    ReachingNetwork,
)
from ..models.feedback_reservoir import circuit_weights
from ..tasks import (
    AdaptiveFiltering,
    DelayedAddition,
    FlipFlop,
    LinearStudentTeacher,
    LorenzEndPoint,
    OneShotClassification,
    Reaching,
)
from ..training import (
    mean_squared_error,
    softmax_cross_entropy,
    squared_error_per_trial,
    trainable_leaves,
)


class Problem(NamedTuple):
    """A task, a network and how SOFO trains it.

    - `title`: for figures. `loss_name`: what its loss is, for the axis.
    - `make_task`, `make_model`: from a key.
    - `loss`: for `fit`. `trainable`: as there.
    - `batch_size`, `steps`: trials an update, and updates.
    - `n_tangents`, `damping`: of SOFO.
    - `baseline`: what a known answer without training costs, for figures.
    """

    title: str
    make_task: Callable[[Any], Any]
    make_model: Callable[[Any], Any]
    batch_size: int
    steps: int
    n_tangents: int
    damping: float = 1e-5
    loss: Callable[..., Any] = mean_squared_error
    loss_name: str = "mean squared error"
    trainable: Any = None
    baseline: tuple[str, float] | None = None


def _whole_reservoir(n_units: int) -> Callable[[Any], Any]:
    """All weights but the feedback's train, from the start of a network of ReLUs."""

    def make(key: Any) -> FeedbackReservoir:
        return FeedbackReservoir.small(n_units, key=key)

    return make


_SINGLE_REACH = Problem(
    "single reach",
    lambda key: Reaching(dt=0.01),
    lambda key: ReachingNetwork.init(48, 3, key=key),
    batch_size=48,
    steps=120,
    n_tangents=48,
    loss=squared_error_per_trial,
    loss_name="weighted squared error",
)

#: About a minute each for SOFO on two CPU cores.
SMALL: dict[str, Problem] = {
    "lorenz": Problem(
        "Lorenz end point",
        lambda key: LorenzEndPoint.generate(key),
        lambda key: BottleneckRNN.lorenz(100, key=key),
        batch_size=128,
        steps=200,
        n_tangents=32,
        # Coordinates are z-scored.
        baseline=("mean state", 1.0),
    ),
    "adaptive_filter": Problem(
        "adaptive filter, one context",
        lambda key: AdaptiveFiltering(length=100),
        lambda key: LeakyRNN.init(48, 1, 1, key=key),
        batch_size=64,
        steps=200,
        n_tangents=48,
        # The mean of `stationary_filter_error` over the contexts.
        baseline=("Kalman filter told the context", 0.4906),
    ),
    "flip_flop": Problem(
        "3-bit flip-flop, all weights",
        lambda key: FlipFlop(),
        _whole_reservoir(48),
        batch_size=32,
        steps=150,
        n_tangents=64,
        trainable=circuit_weights,
    ),
    "flip_flop_reservoir": Problem(
        "3-bit flip-flop, readout of a reservoir",
        lambda key: FlipFlop(),
        lambda key: FeedbackReservoir.init(100, key=key),
        batch_size=32,
        steps=100,
        n_tangents=64,
    ),
    "single_reach": _SINGLE_REACH,
    "double_reach": _SINGLE_REACH._replace(
        title="double reach",
        make_task=lambda key: Reaching.double(dt=0.01),
        make_model=lambda key: ReachingNetwork.init(48, 6, key=key),
    ),
    "one_shot": Problem(
        "one-shot classification",
        lambda key: OneShotClassification(),
        lambda key: BottleneckRNN.one_shot(50, 100, key=key),
        batch_size=64,
        steps=150,
        n_tangents=48,
        damping=1e-3,
        loss=softmax_cross_entropy,
        loss_name="cross-entropy (nats)",
        baseline=("chance", math.log(3)),
    ),
    "delayed_addition": Problem(
        "delayed addition, 32 steps",
        lambda key: DelayedAddition(length=32),
        lambda key: LeakyRNN.init(64, 2, 1, key=key),
        batch_size=128,
        steps=200,
        n_tangents=64,
        baseline=("mean sum", 1 / 6),
    ),
    "student_teacher": Problem(
        "linear student and teacher",
        lambda key: LinearStudentTeacher.generate(key),
        lambda key: LinearMap.init(100, 3, key=key),
        batch_size=512,
        steps=200,
        n_tangents=128,
    ),
}

#: The published sizes; batches of 256 trials and 128 to 256 tangents want a GPU.
PUBLISHED: dict[str, Problem] = {
    "lorenz": SMALL["lorenz"]._replace(
        make_model=lambda key: BottleneckRNN.lorenz(400, key=key),
        batch_size=256,
        steps=10_000,
        n_tangents=128,
    ),
    "adaptive_filter": SMALL["adaptive_filter"]._replace(
        title="adaptive filter, switching contexts",
        make_task=lambda key: AdaptiveFiltering(),
        make_model=lambda key: LeakyRNN.init(100, 1, 1, key=key),
        batch_size=256,
        steps=4000,
        n_tangents=128,
        damping=1e-3,
    ),
    "flip_flop": SMALL["flip_flop"]._replace(
        make_model=_whole_reservoir(128), steps=2000, n_tangents=128
    ),
    "flip_flop_reservoir": SMALL["flip_flop_reservoir"]._replace(
        make_model=lambda key: FeedbackReservoir.init(1000, key=key), steps=2000, n_tangents=128
    ),
    "single_reach": SMALL["single_reach"]._replace(
        make_task=lambda key: Reaching(noise_channels=64),
        make_model=lambda key: ReachingNetwork.init(64, 3, key=key, noisy=True),
        batch_size=256,
        steps=2000,
        n_tangents=256,
    ),
    "double_reach": SMALL["double_reach"]._replace(
        make_task=lambda key: Reaching.double(noise_channels=64),
        make_model=lambda key: ReachingNetwork.init(64, 6, key=key, noisy=True),
        batch_size=256,
        steps=5000,
        n_tangents=256,
    ),
    "one_shot": SMALL["one_shot"]._replace(
        make_model=lambda key: BottleneckRNN.one_shot(100, 400, key=key),
        batch_size=256,
        steps=2000,
        n_tangents=256,
    ),
    "delayed_addition": SMALL["delayed_addition"]._replace(
        title="delayed addition, 128 steps",
        make_task=lambda key: DelayedAddition(length=128),
        make_model=lambda key: LeakyRNN.init(128, 2, 1, key=key),
        batch_size=256,
        steps=2000,
        n_tangents=256,
    ),
    "student_teacher": SMALL["student_teacher"]._replace(steps=2000),
}

SIZES = {"small": SMALL, "published": PUBLISHED}


def start(problem: Problem, key: Any) -> tuple[Any, Any]:
    """The task and the network of one seed."""
    task_key, model_key = jax.random.split(key)
    return problem.make_task(task_key), problem.make_model(model_key)


def n_trained(problem: Problem, model: Any) -> int:
    """Number of parameters that train."""
    trained = eqx.filter(model, trainable_leaves(model, problem.trainable))
    return sum(leaf.size for leaf in jax.tree.leaves(trained))
