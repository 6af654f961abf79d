import subprocess
import sys
import threading

import pytest

from neurosim.training import hold_run_lock, is_locked
from neurosim.training.run_files import RunFiles

HOLDER = """
import sys
import time

from neurosim.training import hold_run_lock

with hold_run_lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


def test_another_process_holds_a_folder_until_it_is_killed(tmp_path):
    assert not is_locked(tmp_path)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_locked(tmp_path)
        with pytest.raises(ValueError, match="is being written by another process") as caught:
            RunFiles(tmp_path, resume=True)
        assert str(tmp_path) in str(caught.value)
        assert "\n" not in str(caught.value)
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout is not None:
            holder.stdout.close()
    assert not is_locked(tmp_path)
    with RunFiles(tmp_path, resume=True):
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)


def test_two_holders_in_one_process(tmp_path):
    refused = []

    def other():
        try:
            with hold_run_lock(tmp_path):
                pass
        except ValueError as error:
            refused.append(str(error))

    with hold_run_lock(tmp_path):
        with pytest.raises(ValueError, match="by another process"), hold_run_lock(tmp_path):
            pass
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        # Refused ones do not take the lock from its holder.
        assert is_locked(tmp_path)
    assert len(refused) == 1
    assert not is_locked(tmp_path)
    with hold_run_lock(tmp_path):
        pass


def test_whoever_asks_does_not_pass_for_a_writer(tmp_path):
    stop = threading.Event()

    def ask():
        while not stop.is_set():
            is_locked(tmp_path)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        for _ in range(300):
            with hold_run_lock(tmp_path):
                pass
    finally:
        stop.set()
        thread.join()


def test_a_refused_run_lets_go(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("{}\n")
    with pytest.raises(ValueError, match="already holds a training run"):
        RunFiles(tmp_path, resume=False)
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]
    assert not is_locked(tmp_path)
    assert not is_locked(tmp_path / "none")


def test_without_locks_nothing_is_held(tmp_path, monkeypatch):
    monkeypatch.setattr("neurosim.training.run_lock.fcntl", None)
    with hold_run_lock(tmp_path), hold_run_lock(tmp_path):
        assert not is_locked(tmp_path)
    assert list(tmp_path.iterdir()) == []
