"""Cost of the kernels against what they stand in for, in one process, compile time apart."""

import statistics
import time

import jax
import jax.numpy as jnp
import pytest

from neurosim.kernels import low_rank_drive, orthonormal_columns, safe_norm, safe_std

ROUNDS = 51


def _ratio(name, ours, theirs, *args, bound):
    runs = [jax.jit(ours), jax.jit(theirs)]
    for run in runs:
        jax.block_until_ready(run(*args))
    times = [[], []]
    for _ in range(ROUNDS):
        for run, taken in zip(runs, times):
            start = time.perf_counter()
            jax.block_until_ready(run(*args))
            taken.append(time.perf_counter() - start)
    ours_s, theirs_s = (statistics.median(taken) for taken in times)
    ratio = ours_s / theirs_s
    print(f"\n{name}: {1e6 * ours_s:.0f} us over {1e6 * theirs_s:.0f} us, ratio {ratio:.2f}")
    assert ratio <= bound


def test_low_rank_drive_over_the_full_matrix():
    keys = jax.random.split(jax.random.key(0), 3)
    left, right = (jax.random.normal(k, (1000, 3)) for k in keys[:2])
    rates = jax.random.normal(keys[2], (64, 1000))
    full = left @ right.T
    low = jax.vmap(lambda r: low_rank_drive(left, right, r))
    _ratio(
        "rank 3 of 1000 units, batch 64, over the full matrix",
        low, lambda r: r @ full.T, rates, bound=0.5,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "ours", "theirs"),
    [
        ("safe norm", safe_norm, lambda x: jnp.linalg.norm(x, axis=-1)),
        ("safe standard deviation", safe_std, lambda x: jnp.std(x, axis=-1)),
    ],
)
def test_safe_forms_over_textbook_forms(name, ours, theirs):
    x = jax.random.normal(jax.random.key(0), (2048, 1000))
    _ratio(f"{name}, 2048 x 1000", ours, theirs, x, bound=1.3)


def test_orthonormal_columns_over_plain_qr():
    x = jax.random.normal(jax.random.key(0), (2000, 64))
    _ratio(
        "orthonormal columns, 2000 x 64, over both factors of QR",
        orthonormal_columns, jnp.linalg.qr, x, bound=1.5,
    )  # fmt: skip
