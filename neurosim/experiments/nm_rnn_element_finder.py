"""Element Finder: the NM-RNN beside low-rank, full-rank and LSTM networks of its size."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ..models import LSTM, NMRNN, LowRankRNN, VanillaRNN
from ..simulate import simulate
from ..tasks import ElementFinder, Trials
from ..training import EnsembleResult
from .experiment import Experiment, Result, check_at_least, spread, text_table
from .network_training import FreshTrialTraining, RunOptions, check_names, train_seeds
from .run_directory import RunDirectory


def _nm_rnn(key: Any) -> Any:
    return NMRNN.init(18, 8, 5, 1, 1, key=key, scheme="eft")


def _low_rank(scale: Any) -> Any:
    def make(key: Any) -> Any:
        return LowRankRNN.init(
            30, 8, 1, 1, key=key, scheme="eft", tau=2.0, rec_scale=scale, orthonormal_left=None
        )

    return make


def _vanilla(key: Any) -> Any:
    model = VanillaRNN.init(21, 1, 1, key=key, tau=2.0, rec_scale="unit")
    # W ~ N(0, 1/N) in place of the factor 1/N, and no bias, as the other networks of this task.
    return dataclasses.replace(model, W=model.W / jnp.sqrt(21), d=None)


#: Networks of about 500 parameters: label, and how one is made from a key. Time is in steps.
NETWORKS = {
    "nm_rnn": ("NM-RNN (M, N, K) = (5, 18, 8)", _nm_rnn),
    "low_rank": ("low-rank 1/N, N = 30, K = 8", _low_rank("1/N")),
    "low_rank_unit": ("low-rank unit, N = 30, K = 8", _low_rank("unit")),
    "vanilla": ("full rank, N = 21", _vanilla),
    "lstm": ("LSTM, N = 10", lambda key: LSTM.init(10, 1, 1, key=key)),
}


_TRAIN = FreshTrialTraining(steps=8000, batch_size=128, learning_rate=1e-2, log_every=250)


@dataclasses.dataclass(frozen=True)
class Config:
    """Element Finder with the published sizes; time in steps."""

    networks: tuple[str, ...] = tuple(NETWORKS)
    """Networks to train, by name."""
    seeds: int = 3
    """Networks of each kind, trained at once."""
    seed: int = 0
    """Root of all randomness."""
    length: int = 25
    """Elements of a sequence."""
    window: int = 500
    """Last updates whose mean batch loss is the score."""
    train: FreshTrialTraining = _TRAIN

    def __post_init__(self):
        check_names("networks", self.networks, NETWORKS)
        check_at_least(self, {"seeds": 1, "window": 1, "length": 1, "seed": 0})


def run(
    config: Config,
    *,
    directory: RunDirectory | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Result:
    """Train every network on fresh trials; the score is the mean loss of the last batches.

    **Arguments:** as `neurosim.experiments.run_experiment` passes them.

    **Returns:** a `Result`; its table has the median over seeds and the range of the score, and
    of the error on 2,000 trials never trained on. The figure of gains shows the NM-RNN with the
    lowest error.
    """
    task = ElementFinder(length=config.length)
    tests = task.sample(jax.random.key(config.seed + 1_000_003), 2000)
    arrays: dict[str, Any] = {}
    summary: dict[str, Any] = {"chance_mse": task.chance_mse, "networks": {}}
    rows = []
    options = RunOptions(directory, resume, progress)
    for name in config.networks:
        result = _train(name, config, task, options)
        last = result.losses[:, -config.window :].mean(axis=1)
        test = np.array([_error(result.member(i).model, tests) for i in range(config.seeds)])
        failed = int(np.sum(result.diverged_at > 0))
        label = NETWORKS[name][0]
        summary["networks"][name] = {
            "label": label,
            "score": last,
            "test_mse": test,
            "diverged_at": result.diverged_at,
        }
        arrays[f"{name}.losses"] = result.losses
        rows.append([label, spread(last), spread(test), str(failed)])
        if name == "nm_rnn":
            arrays |= _gains_by_query(result.member(int(np.argmin(test))).model, config)
    header = ["network", f"loss, last {config.window} updates", "test error", "diverged"]
    table = (
        f"Element Finder, mean squared error after {config.train.steps} updates, median [range] of "
        f"{config.seeds} seeds (chance: {task.chance_mse:.1f})\n\n" + text_table(header, rows)
    )
    return Result(config, summary, arrays, table)


def _train(name, config, task, run: RunOptions) -> EnsembleResult:
    label, make = NETWORKS[name]
    return train_seeds(
        make,
        task,
        config=config,
        run=run,
        name=name,
        label=label,
        optimizer=optax.adam(config.train.learning_rate, eps=1e-7),
        simulate_options={"save": "final"},
        loss=_last_error,
        throw=False,
    )


def _last_error(trajectory: Any, trials: Trials) -> Any:
    """Mean squared error of the answer, which is the output after the last element."""
    return jnp.mean((trajectory.outputs[:, -1] - trials.targets[:, -1]) ** 2)


def _error(model: Any, trials: Trials) -> float:
    return float(_last_error(simulate(model, trials.inputs, dt=1.0, save="final"), trials))


def _gains_by_query(model: Any, config: Config) -> dict[str, np.ndarray]:
    """Gains and outputs averaged over 100 trials for each of some queries and values."""
    queries = [q for q in (5, 10, 15, 20) if q < config.length]
    gains, outputs = [], []
    for index, query in enumerate(queries):
        task = ElementFinder(length=config.length, queries=(query,), fixed_value=5.0)
        trials = task.sample(jax.random.key(config.seed + index), 100)
        trajectory = simulate(model, trials.inputs, dt=1.0)
        s = jax.vmap(jax.vmap(model.gains))(trajectory.states.z)
        gains.append(np.asarray(s.mean(axis=0)))
        outputs.append(np.asarray(trajectory.outputs[..., 0].mean(axis=0)))
    return {
        "queries": np.asarray(queries),
        "gains_by_query": np.stack(gains),
        "outputs_by_query": np.stack(outputs),
    }


def plot(result: Result) -> dict[str, Any]:
    """Figures by name: learning curves, and the NM-RNN's gains for several queries."""
    from ..plotting import new_figure, ordered_colours, paper_style, plot_learning_curves

    a = result.arrays
    figures = {}
    with paper_style():
        figure, ax = new_figure(4.2, 2.9)
        losses = {NETWORKS[n][0]: a[f"{n}.losses"] for n in result.config.networks}
        plot_learning_curves(
            ax, losses, baseline=("chance", result.summary["chance_mse"]), window=100
        )
        figures["learning_curves"] = figure
        if "gains_by_query" in a:
            n_gains = a["gains_by_query"].shape[-1]
            columns = 4
            rows = -(-n_gains // columns)
            figure, axes = new_figure(
                6.6, 1.7 * rows, rows, columns, squeeze=False, sharex=True, sharey=True
            )
            steps = np.arange(a["gains_by_query"].shape[1])
            for k, ax in enumerate(axes.flat[:n_gains]):
                for query, s, colour in zip(
                    a["queries"], a["gains_by_query"], ordered_colours(len(a["queries"]))
                ):
                    ax.plot(steps, s[:, k], color=colour, label=f"q = {query}")
                    ax.axvline(query + 1, color=colour, ls=":", lw=0.6)
                ax.set_title(f"$s_{k + 1}$")
            for ax in axes.flat[n_gains:]:
                ax.set_visible(False)
            for ax in axes[-1]:
                ax.set_xlabel("step")
            for ax in axes[:, 0]:
                ax.set_ylabel("gain $s_k$")
            handles, labels = axes[0, 0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside right center")
            figures["gains_by_query"] = figure
    return figures


EXPERIMENT = Experiment(
    name="nm_rnn_element_finder",
    summary="Finding the asked-for element of a sequence: NM-RNN, low-rank, full-rank and LSTM",
    config=Config,
    presets={
        # Some seeds of the NM-RNN find the task within this budget, others do not.
        "quick": Config(
            networks=("nm_rnn", "low_rank"),
            seeds=10,
            train=dataclasses.replace(_TRAIN, steps=6000),
        ),
        "paper": Config(seeds=10, train=dataclasses.replace(_TRAIN, steps=20_000)),
    },
    run=run,
    plot=plot,
)
