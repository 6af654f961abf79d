"""What an experiment is, and how one is run into a folder."""

import dataclasses
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..training.run_lock import hold_run_lock
from .run_directory import RunDirectory, read_json, stored_config


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run found.

    - `config`: what it was asked.
    - `summary`: numbers and names in JSON's terms.
    - `arrays`: NumPy arrays by name, from which the figures are drawn.
    - `table`: the summary as text.
    """

    config: Any
    summary: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    table: str


@runtime_checkable
class RunFunction(Protocol):
    """`run(config)`: all that an experiment computes."""

    def __call__(
        self,
        config: Any,
        *,
        directory: RunDirectory | None = None,
        resume: bool = False,
        progress: bool | None = None,
    ) -> Result: ...


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A published study as a config and a result.

    - `name`: on the command line. `summary`: one line.
    - `config`: the class of its configs, a frozen dataclass.
    - `presets`: configs by name: `quick` takes about a minute, `paper` has the published sizes and
      numbers of updates.
    - `run`: from a config to a `Result`. `plot`: from a `Result` to figures by name.
    """

    name: str
    summary: str
    config: type
    presets: Mapping[str, Any]
    run: RunFunction
    plot: Callable[[Result], dict[str, Any]]


def run_experiment(
    experiment: Experiment,
    config: Any,
    *,
    run_dir: str | os.PathLike[str],
    resume: bool = False,
    progress: bool | None = None,
) -> Result:
    """Run an experiment into a folder: config first, results and figures last.

    **Arguments:**

    - `experiment`: as `neurosim.experiments.get_experiment` finds it.
    - `config`: an instance of its config class.
    - `run_dir`: the folder, new or empty unless `resume`.
    - `resume`: go on with an unfinished run; the numbers end the same. A finished one is read.
    - `progress`: `False` for silence.

    **Returns:** the `Result`.

    **Raises:** `ValueError` for a folder that cannot serve or that another process writes to, and
    whatever the run raises;
    `KeyboardInterrupt` after Ctrl-C, when what was done is saved.
    """
    directory = RunDirectory(run_dir, experiment.name, config, resume=resume)
    if resume and (directory.path / "results.json").exists():
        return load_result(directory.path, experiment)
    with hold_run_lock(directory.path):
        directory.set_status("running")
        try:
            result = experiment.run(config, directory=directory, resume=resume, progress=progress)
            # Figures before results: a run that has results has everything.
            directory.save_figures(experiment.plot(result))
            directory.save_results(
                {"summary": result.summary, "table": result.table}, arrays=result.arrays
            )
        except KeyboardInterrupt:
            directory.set_status("interrupted")
            raise
        except BaseException as error:
            directory.set_status("failed", error=f"{type(error).__name__}: {error}")
            raise
        directory.set_status("done")
        return result


def load_result(run_dir: str | os.PathLike[str], experiment: Experiment) -> Result:
    """Read the result of a finished run.

    **Raises:** `ValueError` for a folder without one.
    """
    path = Path(run_dir)
    if not (path / "results.json").exists() or not (path / "arrays.npz").exists():
        raise ValueError(f"{path} holds no finished run.")
    stored = read_json(path / "results.json")
    config = stored_config(path, experiment.name, experiment.config)
    with np.load(path / "arrays.npz", allow_pickle=False) as arrays:
        return Result(config, stored["summary"], dict(arrays), stored["table"])


def check_at_least(config: Any, bounds: Mapping[str, float | int]) -> None:
    """Refuse a config with a field below its bound, before anything is trained.

    **Raises:** `ValueError` that names the field.
    """
    for name, least in bounds.items():
        if not getattr(config, name) >= least:
            raise ValueError(f"{name} must be at least {least}, got {getattr(config, name)}.")


def check_positive(config: Any, names: Sequence[str]) -> None:
    """Refuse a config with a field that is not positive and finite.

    **Raises:** `ValueError` that names the field.
    """
    for name in names:
        value = getattr(config, name)
        if not (isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive and finite, got {value}.")


def text_table(header: list[str], rows: list[list[str]]) -> str:
    """Rows of text under a header, columns aligned, as Markdown."""
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    lines = [[str(cell).ljust(w) for cell, w in zip(row, widths)] for row in [header, *rows]]
    rule = ["-" * w for w in widths]
    return "\n".join("| " + " | ".join(line) + " |" for line in [lines[0], rule, *lines[1:]])


def spread(values: Any) -> str:
    """Median, and the range where there is more than one value; "-" for none."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if known.size == 0:
        return "-"
    middle = _two_digits(np.median(known))
    if known.size == 1:
        return middle
    return f"{middle} [{_two_digits(known.min())}, {_two_digits(known.max())}]"


def _two_digits(value: Any) -> str:
    return f"{value:.0f}" if 100 <= abs(value) < 1e5 else f"{value:.2g}"


def announce(text: str, progress: bool | None) -> None:
    """Say what comes next, on stderr, unless `progress` is `False`."""
    if progress is not False:
        print(text, file=sys.stderr, flush=True)
