"""Small losses whose sketches are known by other ways."""

import jax
import jax.numpy as jnp
import numpy as np

# Six samples of three numbers; two tangents that are not orthogonal.
I, J = np.arange(6)[:, None], np.arange(3)[None]
X = np.cos(I * J + 0.3 * I)
TARGET = np.sin(np.arange(6.0))
THETA = np.array([0.2, 0.1, -0.1])
V = np.array([[1.0, 0, 1], [0, 2, 1]])


def squared_error(y):
    return jnp.mean((y - TARGET) ** 2)


def tanh_rnn(seed=0, n_steps=11, n_units=6, n_classes=4, batch=5):
    """A recurrent network of 78 parameters, and a loss at every step."""
    keys = jax.random.split(jax.random.key(seed), 6)
    params = {
        "W": jax.random.normal(keys[0], (n_units, n_units)) / n_units**0.5,
        "B": jax.random.normal(keys[1], (n_units, 2)),
        "z0": 0.1 * jax.random.normal(keys[2], (n_units,)),
        "C": jax.random.normal(keys[3], (n_classes, n_units)),
    }
    xs = jax.random.normal(keys[4], (n_steps, batch, 2))
    labels = jax.random.randint(keys[5], (n_steps, batch), 0, n_classes)

    def init(p):
        return jnp.broadcast_to(p["z0"], (batch, n_units))

    def step(p, z, x):
        z = jnp.tanh(z @ p["W"].T + x @ p["B"].T)
        return z, z @ p["C"].T

    def share(y, label):
        picked = jnp.take_along_axis(y, label[:, None], -1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(y, -1) - picked) / n_steps

    def outputs(p):
        return jax.lax.scan(lambda z, x: step(p, z, x), init(p), xs)[1]

    def loss(y):
        return sum(share(a, b) for a, b in zip(y, labels))

    return params, xs, labels, init, step, share, outputs, loss


def random_tangents(params, k, seed=9):
    leaves, structure = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(seed), len(leaves))
    rows = [jax.random.normal(key, (k, *leaf.shape)) for key, leaf in zip(keys, leaves)]
    return jax.tree.unflatten(structure, rows)


def flat(tree, k):
    return np.concatenate([np.asarray(x).reshape(k, -1) for x in jax.tree.leaves(tree)], axis=1)


def one_row(tree):
    return jax.tree.map(lambda x: x[None], tree)
