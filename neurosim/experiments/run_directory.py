"""One folder per run: its config, its environment, its status, its results and figures."""

import dataclasses
import json
import os
import platform
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..training import environment, write_bytes_atomic, write_json_atomic
from ..training.run_lock import is_locked


def run_environment() -> dict[str, Any]:
    """What the numbers and the duration of a run may depend on beyond its config."""
    return {
        **environment(),
        "platform": platform.platform(),
        "cpu_count": os.cpu_count(),
        "device": jax.devices()[0].device_kind,
    }


class RunDirectory:
    """The folder of one run of an experiment.

    - `config.json`: experiment and every field of the config; written first.
    - `environment.json`: versions, precision, PRNG, machine.
    - `status.json`: `running`, `done`, `interrupted` or `failed`, with the reason.
    - `train/NAME/`: files of each training, as `fit` writes them.
    - `results.json`, `arrays.npz`: what the run found; written last.
    - `figures/*.png`.

    **Arguments:**

    - `path`: the folder; made if it does not exist.
    - `experiment`, `config`: what is run.
    - `resume`: go on with the run in the folder.

    **Raises:** `ValueError` for a folder that holds another run, or one at all where `resume` is
    false, and for one that cannot be written to. Nothing is changed then.
    """

    def __init__(self, path: str | os.PathLike[str], experiment: str, config: Any, *, resume: bool):
        self.path = Path(path)
        wanted = {"experiment": experiment, "config": to_jsonable(config)}
        existing = self.path / "config.json"
        if existing.exists():
            stored = read_json(existing)
            if not resume:
                raise ValueError(
                    f"{self.path} already holds a run of {stored.get('experiment')}: pass --resume "
                    "to go on with it, or another --run-dir."
                )
            if stored != wanted:
                raise ValueError(
                    f"{self.path} holds another run ({_first_difference(stored, wanted)}): the "
                    "same experiment and config are needed to resume, or another --run-dir."
                )
        elif self.path.is_dir() and any(self.path.iterdir()):
            raise ValueError(
                f"{self.path} is not empty and holds no run: an empty or new --run-dir is needed."
            )
        try:
            (self.path / "figures").mkdir(parents=True, exist_ok=True)
            if not existing.exists():
                write_json_atomic(existing, wanted)
            write_json_atomic(self.path / "environment.json", run_environment())
        except OSError as error:
            raise ValueError(
                f"the run directory {self.path} cannot be written to ({error.strerror}): a "
                "directory with write permission is needed."
            ) from error

    def training(self, name: str) -> Path:
        """Where the files of the training called `name` go."""
        return self.path / "train" / name

    def set_status(self, status: str, **details: Any) -> None:
        """Say how the run stands."""
        write_json_atomic(self.path / "status.json", {"status": status, **details})

    def save_results(self, summary: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Write the numbers of a finished run."""
        import io

        buffer = io.BytesIO()
        named: Any = {k: np.asarray(v) for k, v in arrays.items()}
        np.savez_compressed(buffer, **named)
        write_bytes_atomic(self.path / "arrays.npz", buffer.getvalue())
        write_json_atomic(self.path / "results.json", to_jsonable(dict(summary)))

    def save_figures(self, figures: Mapping[str, Any]) -> list[Path]:
        """Write figures as PNG; returns their paths."""
        import io

        paths = []
        for name, figure in figures.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", dpi=200)
            path = self.path / "figures" / f"{name}.png"
            write_bytes_atomic(path, buffer.getvalue())
            paths.append(path)
        return paths


def new_run_path(root: str | os.PathLike[str], experiment: str, preset: str) -> Path:
    """The next free folder `ROOT/EXPERIMENT/PRESET-001`, made by this call and so nobody else's."""
    folder = Path(root) / experiment
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(1, 100_000):
            path = folder / f"{preset}-{number:03d}"
            try:
                path.mkdir()
            except FileExistsError:
                continue
            return path
    except OSError as error:
        raise ValueError(
            f"{folder} cannot be written to ({error.strerror}): name another folder by --run-dir."
        ) from error
    raise ValueError(f"{folder} is full.")


def latest_unfinished(root: str | os.PathLike[str], experiment: str, preset: str) -> Path | None:
    """The newest folder of an experiment and preset whose run was cut short: killed or interrupted.

    One that failed by an error of its own is not among them: it would fail again. Nor is one that
    is still running.
    """
    for path in sorted((Path(root) / experiment).glob(f"{preset}-*"), reverse=True):
        status = path / "status.json"
        state = read_json(status).get("status") if status.exists() else "running"
        cut_short = state in ("running", "interrupted") and not is_locked(path)
        if (path / "config.json").exists() and cut_short:
            return path
    return None


def stored_config(path: Path, experiment: str, cls: type) -> Any:
    """The config of an experiment's run in a folder, as an instance of `cls`.

    **Raises:** `ValueError` for a folder that holds no run, or one of another kind.
    """
    stored = read_json(Path(path) / "config.json")
    if not isinstance(stored, dict) or not isinstance(stored.get("config"), dict):
        raise ValueError(f"{Path(path) / 'config.json'} does not hold the config of a run.")
    if stored.get("experiment") != experiment:
        raise ValueError(f"{path} holds a run of {stored.get('experiment')}, not of {experiment}.")
    return config_from_jsonable(cls, stored["config"])


def read_json(path: Path) -> Any:
    """A JSON file's content.

    **Raises:** `ValueError` for a file that is not JSON.
    """
    try:
        return json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a readable JSON file ({error}).") from None


def to_jsonable(value: Any) -> Any:
    """Dataclasses, tuples and NumPy values in JSON's terms; a NaN becomes `None`."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_jsonable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_jsonable(v) for v in value]
    if isinstance(value, (np.ndarray, jax.Array)):
        return to_jsonable(np.asarray(value).tolist())
    if isinstance(value, np.generic):
        return to_jsonable(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def config_from_jsonable(cls: Any, value: Any) -> Any:
    """A config dataclass from what `to_jsonable` made of it.

    **Raises:** `ValueError` for fields that the class does not have.
    """
    if isinstance(cls, type) and dataclasses.is_dataclass(cls):
        hints = typing.get_type_hints(cls)
        unknown = set(value) - set(hints)
        if unknown:
            raise ValueError(f"{cls.__name__} has no field {sorted(unknown)[0]!r}.")
        return cls(**{k: config_from_jsonable(hints[k], v) for k, v in value.items()})
    if isinstance(value, list):
        return tuple(config_from_jsonable(None, v) for v in value)
    return value


def _first_difference(a: Any, b: Any, name: str = "") -> str:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted({*a, *b}):
            if a.get(key) != b.get(key):
                inner = f"{name}.{key}" if name else str(key)
                return _first_difference(a.get(key), b.get(key), inner)
    return f"{name} was {a!r} and is now {b!r}"
