"""The command line: every mistake is one line and a status, every run is a folder."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from neurosim import cli

# A network whose files are all that matters: small, and not taken apart after training.
TINY = ["--set=train.steps=60", "--set=train.log_every=5", "--set=variants=lstm", "--set=seeds=1"]


def _main(capsys, *argv):
    status = cli.main(list(argv))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_list_names_every_experiment(capsys):
    status, out, _ = _main(capsys, "list")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == [
        "flip_flop_fixed_points",
        "grid_deformations",
        "nm_rnn_element_finder",
        "nm_rnn_multitask",
        "nm_rnn_theory",
        "nm_rnn_time_constants",
        "nm_rnn_timing",
        "organics_digits",
        "organics_phenomena",
        "organics_stability",
        "place_capacity",
        "sofo_comparison",
    ]


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [
        (["rum"], "did you mean 'run'"),
        (["run", "nm_rnn_timming"], "did you mean 'nm_rnn_timing'"),
        (["run", "nm_rnn_timing", "--preset", "fast"], "no preset 'fast'"),
        (["run", "nm_rnn_timing", "--preset", "quick", "--preset", "papr"], "no preset 'papr'"),
        (["run", "nm_rnn_timing", "--train.stpes", "3"], "--train.steps"),
        (["run", "nm_rnn_timing", "--set", "train.stpes=3"], "--train.steps"),
        (["run", "nm_rnn_timing", "--set", "train.steps=many"], "train.steps"),
        (["run", "nm_rnn_timing", "--set", "train.steps"], "FIELD=VALUE"),
        (["run", "nm_rnn_timing", "--set", "variants=transformer"], "unknown network"),
        (["run", "nm_rnn_timing", "--resum"], "--resume"),
        (["run", "nm_rnn_timing", "--set", "intervals=125", "--quiet"], "not a multiple of dt"),
        (["run", "nm_rnn_timing", "--set", "dt=-1", "--quiet"], "dt must be"),
        (["show"], "RUN_DIR"),
        (["show", "nowhere"], "holds no run"),
        (["list", "everything"], "no arguments"),
    ],
)
def test_mistakes_are_one_line(capsys, tmp_path, monkeypatch, argv, wanted):
    monkeypatch.chdir(tmp_path)
    status, out, err = _main(capsys, *argv)
    assert status != 0
    assert out == ""
    assert len(err.strip().splitlines()) == 1, err
    assert err.startswith("neurosim: ")
    assert wanted in err


def test_unwritable_run_directory(capsys, tmp_path):
    (tmp_path / "file").write_text("kept")
    status, _, err = _main(
        capsys, "run", "nm_rnn_theory", "--run-dir", str(tmp_path / "file" / "run")
    )
    assert status == 1
    assert "cannot be written to" in err
    assert len(err.strip().splitlines()) == 1
    assert (tmp_path / "file").read_text() == "kept"


def test_set_takes_lists_and_nested_fields():
    from neurosim.experiments import get_experiment

    experiment = get_experiment("nm_rnn_timing")
    options, config = cli.parse_run(
        experiment,
        ["--set", "train.steps=7", "--set=intervals=120,160", "--seeds", "4", "--quiet"],
    )
    assert options.quiet
    assert config.train.steps == 7
    assert config.intervals == (120.0, 160.0)
    assert config.seeds == 4
    assert config.train.learning_rate == 1e-2


def test_help_of_every_command(capsys):
    for argv in (["--help"], ["list", "--help"], ["show", "-h"], ["run", "--help"]):
        status, out, _ = _main(capsys, *argv)
        assert status == 0
        assert out.startswith("usage: neurosim run")


def test_resume_takes_its_config_from_the_folder(capsys, tmp_path):
    start = ["run", "nm_rnn_theory", "--runs", str(tmp_path), "--quiet"]
    assert cli.main([*start, "--set", "overlap=5"]) == 0
    folder = tmp_path / "nm_rnn_theory" / "quick-001"
    # As if it had been killed before its end; and after it another run failed by itself.
    (folder / "results.json").unlink()
    (folder / "status.json").write_text('{"status": "running"}')
    later = folder.with_name("quick-002")
    shutil.copytree(folder, later)
    (later / "status.json").write_text('{"status": "failed", "error": "of its own"}')
    capsys.readouterr()
    assert cli.main([*start, "--resume"]) == 0
    assert json.loads((folder / "config.json").read_text())["config"]["overlap"] == 5.0
    assert (folder / "results.json").exists()
    status, _, err = _main(
        capsys, "run", "nm_rnn_theory", "--run-dir", str(folder), "--resume", "--set", "overlap=6"
    )
    assert status == 1
    assert "config.overlap was 5.0 and is now 6.0" in err
    status, _, err = _main(capsys, "run", "nm_rnn_timing", "--run-dir", str(folder), "--resume")
    assert status == 1
    assert "holds a run of nm_rnn_theory" in err


def test_output_that_nobody_reads_is_no_error(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "neurosim.cli", "list"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == ""
    process.stderr.close()


def test_help_lists_the_fields(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["run", "nm_rnn_timing", "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert "--train.steps" in out
    assert "--preset" in out


def test_run_and_show(capsys, tmp_path):
    status, out, _ = _main(capsys, "run", "nm_rnn_theory", "--runs", str(tmp_path), "--quiet")
    assert status == 0
    assert "gain of a linear ramp" in out
    folder = tmp_path / "nm_rnn_theory" / "quick-001"
    assert (folder / "figures" / "theory.png").exists()
    status, out, _ = _main(capsys, "show", str(folder))
    assert status == 0
    assert "overlap = 4.0" in out
    assert "status      done" in out
    assert "theory.png" in out
    # A finished run is read, not run again; without --resume it is not touched.
    status, out, _ = _main(
        capsys, "run", "nm_rnn_theory", "--run-dir", str(folder), "--resume", "--quiet"
    )
    assert status == 0
    status, _, err = _main(capsys, "run", "nm_rnn_theory", "--run-dir", str(folder), "--quiet")
    assert status == 1
    assert "already holds a run" in err


def _start(folder: Path, *extra: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "neurosim.cli", "run", "nm_rnn_timing", *TINY,
         "--run-dir", str(folder), *extra],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def test_killed_run_resumes_to_the_same_bits(tmp_path):
    whole = _start(tmp_path / "whole", "--quiet")
    assert whole.wait(timeout=200) == 0, whole.stderr.read()

    broken = tmp_path / "broken"
    process = _start(broken, "--quiet")
    last = broken / "train" / "lstm" / "checkpoints" / "last"
    deadline = time.monotonic() + 120
    while not last.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.communicate()
    assert not (broken / "results.json").exists()

    again = _start(broken, "--resume", "--quiet")
    assert again.wait(timeout=200) == 0, again.stderr.read()
    for stream in (whole, again):
        stream.communicate()
    with np.load(tmp_path / "whole" / "arrays.npz") as a, np.load(broken / "arrays.npz") as b:
        assert set(a) == set(b)
        for name in a:
            np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    same = [(d / "results.json").read_text() for d in (tmp_path / "whole", broken)]
    assert same[0] == same[1]


def test_corrupted_checkpoint_is_one_line(capsys, tmp_path):
    folder = tmp_path / "run"
    args = ["run", "nm_rnn_timing", *TINY, "--run-dir", str(folder), "--quiet"]
    assert cli.main(args) == 0
    (folder / "results.json").unlink()
    last = folder / "train" / "lstm" / "checkpoints" / "last"
    damaged = bytearray(last.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    last.write_bytes(bytes(damaged))
    capsys.readouterr()
    status, _, err = _main(capsys, *args, "--resume")
    assert status == 1
    assert len(err.strip().splitlines()) == 1
    assert "checkpoint" in err
    assert last.read_bytes() == bytes(damaged)
    assert json.loads((folder / "status.json").read_text())["status"] == "failed"


def test_a_run_whose_process_is_gone_is_shown_as_stopped(capsys, tmp_path):
    _main(capsys, "run", "nm_rnn_theory", "--run-dir", str(tmp_path / "run"), "--quiet")
    (tmp_path / "run" / "status.json").write_text('{"status": "running"}')
    status, out, _ = _main(capsys, "show", str(tmp_path / "run"))
    assert status == 0
    assert "status      stopped, go on with run --resume" in out
