"""Time of the fixed-point search: 1,024 starts, 100 units, compilation included."""

import time

import jax
import jax.numpy as jnp
import numpy as np

from neurosim.analysis import find_fixed_points


def test_search_of_1024_starts():
    rng = np.random.default_rng(0)
    weights = jnp.asarray(1.5 * rng.standard_normal((100, 100)) / 10, dtype=jnp.float32)
    starts = rng.standard_normal((1024, 100)).astype(np.float32)

    def flow(x):
        return -x + weights @ jnp.tanh(x)

    jax.clear_caches()
    start = time.perf_counter()
    found = find_fixed_points(flow, starts, kind="flow")
    seconds = time.perf_counter() - start
    print(f"\n1,024 starts, 100 units: {seconds:.1f} s (bound 10 s), {len(found)} fixed points")
    assert seconds < 10
