"""SOFO with its tangents over two devices, and with buffers given back to XLA.

The number of devices of a process is settled when JAX starts, so this file runs itself as a script.
"""

import os
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest


def test_two_devices_give_the_same_run():
    root = Path(__file__).parents[2]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    environment = {
        **os.environ,
        "XLA_FLAGS": flags,
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
        "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", __file__],
        capture_output=True, text=True, env=environment, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split() == ["one", "step", "fit"]


def test_buffers_are_given_back(double_precision):
    """Under `donate="all"` the new parameters and state are written over the old."""
    from neurosim.training import SOFO

    update, params, state, batch, key = _one_step(SOFO(6, 0.1, momentum=0.5))
    expected = eqx.filter_jit(update)(params, state, batch, key)
    given = jax.tree.map(jnp.copy, (params, state, batch, key))
    found = eqx.filter_jit(update, donate="all")(*given)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b)
    for leaf in jax.tree.leaves(given[0]):
        assert leaf.is_deleted()
        with pytest.raises(RuntimeError, match="deleted"):
            np.asarray(leaf)


def _one_step(sofo):
    from neurosim.training import sketch_scan

    keys = jax.random.split(jax.random.key(0), 4)
    params = {
        "W": jax.random.normal(keys[0], (5, 5)) / 5**0.5,
        "C": jax.random.normal(keys[1], (2, 5)),
    }
    batch = (jax.random.normal(keys[2], (7, 4, 5)), jax.random.normal(keys[3], (7, 4, 2)))

    def step(p, z, x):
        z = jnp.tanh(z @ p["W"].T + x)
        return z, z @ p["C"].T

    def update(params, state, batch, key):
        def sketch_fn(p, v):
            return sketch_scan(
                step, lambda y, t: jnp.mean((y - t) ** 2), lambda p: jnp.zeros((4, 5)), p, v, *batch
            )

        return sofo.step(params, state, sketch_fn, key)[:2]

    return update, params, sofo.init(params), batch, jax.random.key(1)


def _in_two_devices():
    from jax.sharding import Mesh
    from tiny_circuits import Accumulate, TinyRNN

    from neurosim.training import SOFO, fit, sketch

    assert jax.device_count() == 2
    mesh = Mesh(np.array(jax.devices()), ("tangent",))
    seen = []

    def watched(sofo):
        """One step of a linear model, and where its tangents were."""

        def update(params, state, key):
            def sketch_fn(p, v):
                jax.debug.inspect_array_sharding(v, callback=seen.append)
                return sketch(lambda p: jnp.sin(p), lambda y: jnp.sum(y**2), p, v)

            return sofo.step(params, state, sketch_fn, key)[:2]

        params = jnp.linspace(0.1, 1, 9)
        return jax.jit(update)(params, sofo.init(params), jax.random.key(2))

    watched(SOFO(4, 0.1, mesh=mesh))
    watched(SOFO(4, 0.1))
    over_both, alone = seen
    assert len(over_both.device_set) == 2, over_both
    assert over_both.shard_shape((4, 9)) == (2, 9), over_both
    assert alone.shard_shape((4, 9)) == (4, 9), alone
    print("one")

    def run(sofo):
        update, params, state, batch, key = _one_step(sofo)
        for i in range(3):
            params, state = jax.jit(update)(params, state, batch, jax.random.fold_in(key, i))
        return params

    # Damped so much that a step does not magnify rounding.
    rules = [SOFO(6, 0.3, damping=0.01, mesh=where) for where in (None, mesh)]
    whole, parts = map(run, rules)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    print("step")

    call = {"steps": 5, "batch_size": 8, "key": jax.random.key(3), "progress": False}
    one, two = (
        fit(TinyRNN.init(jax.random.key(4)), Accumulate(), optimizer=sofo, **call) for sofo in rules
    )
    np.testing.assert_allclose(one.losses, two.losses, rtol=1e-12)
    assert np.asarray(one.losses).dtype == np.float64
    for a, b in zip(jax.tree.leaves(one.model), jax.tree.leaves(two.model), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    print("fit")


if __name__ == "__main__":
    _in_two_devices()
