"""The 3-bit flip-flop: a trained network keeps its memories in fixed points."""

import dataclasses
import itertools
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ..analysis import PCA, find_fixed_points
from ..models import VanillaRNN
from ..simulate import simulate
from ..tasks import FlipFlop
from ..training import fit
from .experiment import Experiment, Result, announce, check_at_least, text_table
from .network_training import FreshTrialTraining, train_network
from .run_directory import RunDirectory

_TRAIN = FreshTrialTraining(steps=1500, batch_size=64, learning_rate=3e-3)


@dataclasses.dataclass(frozen=True)
class Config:
    """A rate network on the 3-bit flip-flop; times in ms."""

    n_units: int = 100
    """Units of the network."""
    n_bits: int = 3
    """Channels of the task."""
    tau: float = 50.0
    """Time constant (ms)."""
    dt: float = 10.0
    """Time step (ms)."""
    gain: float = 1.2
    """Spectral radius of the initial recurrent weights."""
    starts: int = 1024
    """States from which fixed points are searched."""
    start_noise: float = 0.5
    """Standard deviation of the noise added to them."""
    seed: int = 0
    """Root of all randomness."""
    train: FreshTrialTraining = _TRAIN

    def __post_init__(self):
        at_least = {"n_bits": 1, "n_units": 3, "starts": 1, "start_noise": 0, "gain": 0, "seed": 0}
        check_at_least(self, at_least)


def run(
    config: Config,
    *,
    directory: RunDirectory | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Result:
    """Train a network and find the fixed points of its flow without input.

    **Arguments:** as `neurosim.experiments.run_experiment` passes them.

    **Returns:** a `Result` with the number of stable and unstable fixed points by their number of
    unstable directions, and which corners of the output cube the stable ones stand for.

    **Reference:** Sussillo & Barak (2013), Neural Computation 25.
    """
    task = FlipFlop(n_bits=config.n_bits, dt=config.dt)
    keys = jax.random.split(jax.random.key(config.seed), 4)
    model = VanillaRNN.init(
        config.n_units, config.n_bits, config.n_bits, key=keys[0], tau=config.tau, rec_scale="unit"
    )
    model = dataclasses.replace(
        model,
        W=config.gain * model.W / jnp.sqrt(config.n_units),
        x0=jnp.zeros(config.n_units),
    )
    trained = train_network(
        fit,
        model,
        task,
        name="network",
        label="a rate network",
        train=config.train,
        directory=directory,
        progress=progress,
        resume=resume,
        optimizer=optax.chain(
            optax.clip_by_global_norm(1.0),
            optax.adam(optax.cosine_decay_schedule(config.train.learning_rate, config.train.steps)),
        ),
        key=keys[1],
    )
    model = trained.model
    trials = task.sample(keys[2], 64)
    trajectory = simulate(model, trials.inputs, dt=config.dt)
    error = float(jnp.mean((trajectory.outputs - trials.targets) ** 2))

    states = np.asarray(trajectory.states)
    rng = np.random.default_rng(config.seed)
    flat = states.reshape(-1, config.n_units)
    starts = flat[rng.choice(len(flat), config.starts)]
    starts = starts + config.start_noise * rng.standard_normal(starts.shape)
    silent = jnp.zeros(config.n_bits)
    announce(f"searching fixed points from {config.starts} states", progress)
    began = time.perf_counter()
    found = find_fixed_points(
        lambda x: config.tau * model.vector_field(0.0, x, silent), starts, kind="flow"
    )
    seconds = time.perf_counter() - began

    points = np.asarray(found.points)
    stable = np.asarray(found.stable)
    outputs = np.asarray(jax.vmap(model.readout)(jnp.asarray(points, model.W.dtype)))
    unstable_directions = np.sum(np.real(found.eigenvalues) > 0, axis=-1)
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=config.n_bits)))
    gaps = np.array(
        [np.abs(outputs[stable] - c).max(axis=1).min() if stable.any() else np.inf for c in corners]
    )
    pca = PCA(3).fit(states)
    counts = {int(n): int(np.sum(unstable_directions == n)) for n in np.unique(unstable_directions)}
    rows = [
        ["mean squared error of the output", f"{error:.2g}"],
        ["fixed points", str(len(points))],
        ["stable", str(int(stable.sum()))],
        [f"corners of the cube with a stable point within 0.25, of {len(corners)}",
         str(int(np.sum(gaps < 0.25)))],
        *[[f"with {n} unstable directions", str(c)] for n, c in counts.items() if n > 0],
    ]  # fmt: skip
    summary = {
        "mse": error,
        "n_fixed_points": len(points),
        "n_stable": int(stable.sum()),
        "n_corners": int(np.sum(gaps < 0.25)),
        "corner_distances": gaps,
        "by_unstable_directions": counts,
        "search_seconds": seconds,
    }
    arrays = {
        "losses": trained.losses,
        "outputs": np.asarray(trajectory.outputs[0]),
        "targets": np.asarray(trials.targets[0]),
        "latents": pca.transform(states),
        "points": points,
        "point_outputs": outputs,
        "point_latents": pca.transform(points) if len(points) else np.zeros((0, 3)),
        "stable": stable,
        "unstable_directions": unstable_directions,
    }
    table = f"{config.n_bits}-bit flip-flop, {config.n_units} units\n\n" + text_table(
        ["quantity", "value"], rows
    )
    return Result(config, summary, arrays, table)


def plot(result: Result) -> dict[str, Any]:
    """Two figures: outputs with their targets, and fixed points among trajectories."""
    from ..plotting import PALETTE, new_figure, paper_style, plot_latent_trajectories

    a, config = result.arrays, result.config
    figures = {}
    with paper_style():
        figure, axes = new_figure(
            5.0,
            1.1 * config.n_bits + 0.4,
            config.n_bits,
            1,
            squeeze=False,
            sharex=True,
            sharey=True,
        )
        ts = (np.arange(len(a["outputs"])) + 1) * config.dt
        for bit, ax in enumerate(axes[:, 0]):
            ax.plot(ts, a["targets"][:, bit], color="0.5", ls=":", label="target")
            ax.plot(ts, a["outputs"][:, bit], color=PALETTE[0], label="output")
            ax.set_ylabel(f"bit {bit + 1}")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
        axes[-1, 0].set_xlabel("time (ms)")
        figures["outputs"] = figure

        figure, axes = new_figure(6.4, 3.0, 1, 2)
        for ax, (i, j) in zip(axes, ((0, 1), (0, 2))):
            plot_latent_trajectories(
                ax,
                a["latents"][:12][:, :, [i, j]],
                fixed_points=a["point_latents"][:, [i, j]],
                stable=a["stable"],
                labels=(f"PC {i + 1}", f"PC {j + 1}"),
                colours=["0.75"] * 12,
            )
        for ax in axes:
            ax.get_legend().remove()
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
        figures["fixed_points"] = figure
    return figures


EXPERIMENT = Experiment(
    name="flip_flop_fixed_points",
    summary="3-bit flip-flop: the fixed points of a trained rate network",
    config=Config,
    presets={
        "quick": Config(train=dataclasses.replace(_TRAIN, steps=600)),
        "paper": Config(train=dataclasses.replace(_TRAIN, steps=5000)),
    },
    run=run,
    plot=plot,
)
