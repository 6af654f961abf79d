"""Batches of trials a second over neurogym's `Dataset`, in one process, compile time apart.

The four tasks that both have, go and anti with the stimulus on or remembered, 256 sequences of 100
and of 300 steps, each side with its own step of time. Neither adds noise here; what ours costs, one
normal number for each step and channel, is printed besides. A sequence of ours is one trial; those
of neurogym hold several in a row, so the ratio for each trial is printed too.

neurogym is not among the packages of this project's environments, whose versions differ: it needs
an environment with `neurogym[rl]`, and this package on its path.
"""

import statistics
import time

import jax
import pytest

from neurosim.tasks import Multitask

neurogym = pytest.importorskip(
    "neurogym", reason="neurogym is not installed, or not all it needs", exc_type=ImportError
)

PAIRS = {"delay_pro": "go", "delay_anti": "anti", "memory_pro": "dlygo", "memory_anti": "dlyanti"}
#: Ours is short, and other work on the machine can more than double a single one.
BATCH, ROUNDS, OF_OURS = 256, 7, 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_steps", [100, 300])
def test_trial_generation_over_neurogym(n_steps):
    key = jax.random.key(0)

    def ours(noise_std):
        task = Multitask(tasks=tuple(PAIRS), duration=10 * n_steps, noise_std=noise_std)
        return lambda: jax.block_until_ready(task.sample(key, BATCH))

    runs = {"ours": ours(0.0), "noisy": ours(0.01)}
    lengths = []
    for name in PAIRS.values():
        dataset = neurogym.Dataset(f"yang19.{name}-v0", batch_size=BATCH, seq_len=n_steps)
        assert dataset()[0].shape[:2] == (n_steps, BATCH)
        lengths.append(len(dataset.envs[0].unwrapped.ob))
        runs[name] = dataset

    times = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(ROUNDS):
        for name, run in runs.items():
            for _ in range(1 if name in PAIRS.values() else OF_OURS):
                start = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    one, noisy = medians["ours"], medians["noisy"]
    theirs = statistics.mean(medians[name] for name in PAIRS.values())
    ratio = theirs / one
    trials = statistics.mean(-(-n_steps // length) for length in lengths)
    print(
        f"\n{BATCH} x {n_steps} steps: {1e3 * one:.2f} ms a batch, {1e3 * noisy:.2f} ms noisy; "
        f"neurogym {1e3 * theirs:.0f} ms; {1 / one:.0f} and {1 / theirs:.1f} batches a second, "
        f"ratio {ratio:.0f} (bound 100), {ratio / trials:.0f} for each trial"
    )
    assert ratio >= 100
