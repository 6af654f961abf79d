"""Run directories: what they refuse, and that they give back what they were given."""

import dataclasses
import json
import os

import numpy as np
import pytest

from neurosim.experiments import Experiment, Result, load_result, run_experiment
from neurosim.experiments.run_directory import (
    RunDirectory,
    config_from_jsonable,
    latest_unfinished,
    new_run_path,
    to_jsonable,
)
from neurosim.training.run_lock import hold_run_lock


@dataclasses.dataclass(frozen=True)
class Inner:
    rate: float = 0.1


@dataclasses.dataclass(frozen=True)
class Outer:
    names: tuple[str, ...] = ("a", "b")
    rows: tuple[tuple[float, ...], ...] = ((1.0, 2.0),)
    inner: Inner = Inner()


def _run(config, *, directory=None, resume=False, progress=None):
    if config.inner.rate < 0:
        raise ArithmeticError("a negative rate")
    return Result(
        config, {"rate": config.inner.rate, "gap": np.nan}, {"x": np.arange(3.0)}, "table"
    )


EXPERIMENT = Experiment("toy", "a toy", Outer, {"quick": Outer()}, _run, lambda result: {})


def test_config_survives_json():
    config = Outer(names=("c",), inner=Inner(3.5))
    again = config_from_jsonable(Outer, json.loads(json.dumps(to_jsonable(config))))
    assert again == config


def test_unknown_field_of_stored_config_is_named():
    with pytest.raises(ValueError, match="no field 'colour'"):
        config_from_jsonable(Inner, {"colour": 1})


def test_finished_run_is_read_back(tmp_path):
    result = run_experiment(EXPERIMENT, Outer(), run_dir=tmp_path / "r")
    status = json.loads((tmp_path / "r" / "status.json").read_text())
    assert status == {"status": "done"}
    again = load_result(tmp_path / "r", EXPERIMENT)
    assert again.config == result.config
    assert again.summary == {"rate": 0.1, "gap": None}
    np.testing.assert_array_equal(again.arrays["x"], [0.0, 1.0, 2.0])
    environment = json.loads((tmp_path / "r" / "environment.json").read_text())
    assert {"prng", "precision", "jax", "python"} <= set(environment)


def test_failed_run_says_why(tmp_path):
    with pytest.raises(ArithmeticError):
        run_experiment(EXPERIMENT, Outer(inner=Inner(-1.0)), run_dir=tmp_path / "r")
    status = json.loads((tmp_path / "r" / "status.json").read_text())
    assert status == {"status": "failed", "error": "ArithmeticError: a negative rate"}


def test_existing_run_is_not_overwritten(tmp_path):
    run_experiment(EXPERIMENT, Outer(), run_dir=tmp_path / "r")
    before = (tmp_path / "r" / "results.json").read_bytes()
    with pytest.raises(ValueError, match="already holds a run"):
        run_experiment(EXPERIMENT, Outer(), run_dir=tmp_path / "r")
    with pytest.raises(ValueError, match=r"inner\.rate was 0\.1 and is now 0\.2"):
        run_experiment(EXPERIMENT, Outer(inner=Inner(0.2)), run_dir=tmp_path / "r", resume=True)
    assert (tmp_path / "r" / "results.json").read_bytes() == before


def test_folder_of_other_things_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="not empty and holds no run"):
        RunDirectory(tmp_path, "toy", Outer(), resume=False)
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_unwritable_place_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot be written to"):
        RunDirectory(tmp_path / "file" / "run", "toy", Outer(), resume=False)


def test_paths_are_never_given_twice(tmp_path):
    paths = [new_run_path(tmp_path, "toy", "quick") for _ in range(3)]
    assert [p.name for p in paths] == ["quick-001", "quick-002", "quick-003"]
    assert latest_unfinished(tmp_path, "toy", "quick") is None
    run_experiment(EXPERIMENT, Outer(), run_dir=paths[0])
    assert latest_unfinished(tmp_path, "toy", "quick") is None
    RunDirectory(paths[1], "toy", Outer(), resume=False)
    assert latest_unfinished(tmp_path, "toy", "quick") == paths[1]


def test_one_writer_at_a_time(tmp_path):
    RunDirectory(tmp_path / "toy" / "quick-001", "toy", Outer(), resume=False)
    path = tmp_path / "toy" / "quick-001"
    assert latest_unfinished(tmp_path, "toy", "quick") == path
    with hold_run_lock(path):
        assert latest_unfinished(tmp_path, "toy", "quick") is None
        with pytest.raises(ValueError, match="is being written by another process"):
            run_experiment(EXPERIMENT, Outer(), run_dir=path, resume=True)
    result = run_experiment(EXPERIMENT, Outer(), run_dir=path, resume=True)
    assert result.table == "table"
