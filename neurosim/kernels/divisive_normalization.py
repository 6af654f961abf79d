"""The two-type circuit of divisive normalization: its flow, Jacobian and closed-form rest point.

Symbols are those of the publication: principal neurons `y`, normalization neurons `a`, input drive
`z`, gains `b` and `b0`, semisaturation `sigma`, normalization weights `W`, recurrent weights `W_r`.
Time constants are left to the caller: the flow comes multiplied by them. Products are written
`y @ W.T`, which under `vmap` has the batch first and needs no transposition.

**Reference:** Rawat, Heeger & Martiniani (2024), Unconditional stability of a recurrent neural
circuit implementing divisive normalization, NeurIPS 37.
"""

from typing import Any, Literal

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from .safe_math import safe_sqrt

#: Where the circuit rectifies y: nowhere, before the recurrent weights, or after them.
Rectify = Literal["none", "inner", "outer"]

Weights = Float[Array, "unit unit"] | None


def recurrent_drive(
    y: Float[Array, " unit"], W_r: Weights, rectify: Rectify = "none"
) -> Float[Array, " unit"]:
    """`W_r y`, `W_r [y]+` or `[W_r y]+`; `W_r = None` is the identity. O(unit^2)."""
    if rectify == "inner":
        y = jnp.maximum(y, 0)
    drive = y if W_r is None else y @ W_r.T
    return jnp.maximum(drive, 0) if rectify == "outer" else drive


def pooled_activity(
    y: Float[Array, " unit"],
    a: Float[Array, " unit"],
    W: Float[Array, "unit unit"],
    rectify: Rectify = "none",
) -> Float[Array, " unit"]:
    """`W (y^2 [a]+)`, of `[y]+` where the circuit is rectified. O(unit^2)."""
    active = y if rectify == "none" else jnp.maximum(y, 0)
    return (active * active * jnp.maximum(a, 0)) @ W.T


def normalization_flow(
    y: Float[Array, " unit"],
    a: Float[Array, " unit"],
    z: Float[Array, " unit"],
    *,
    W_r: Weights,
    W: Float[Array, "unit unit"],
    b: Any,
    b0: Any,
    sigma: Any,
    rectify: Rectify = "none",
) -> tuple[Float[Array, " unit"], Float[Array, " unit"]]:
    """`(tau_y dy/dt, tau_a da/dt)`, finite with finite derivatives also where `a` is 0.

        tau_y dy/dt = -y + b z + (1 - sqrt([a]+)) W_r y
        tau_a da/dt = -a + (b0 sigma)^2 + W (y^2 [a]+)

    Two products of a matrix and a vector; `b`, `b0` and `sigma` are `(unit,)` or scalars.
    """
    gain = 1 - safe_sqrt(jnp.maximum(a, 0))
    dy = -y + b * z + gain * recurrent_drive(y, W_r, rectify)
    da = -a + (b0 * sigma) ** 2 + pooled_activity(y, a, W, rectify)
    return dy, da


def normalized_response(
    z: Any,
    *,
    W: Any,
    b: Any,
    b0: Any,
    sigma: Any,
    rectify: Rectify = "none",
    exponent: Any = 2,
    xp: Any = jnp,
) -> tuple[Any, Any]:
    """The rest point `(y, a)` of the circuit whose recurrent matrix is the identity.

        a = (b0 sigma)^p + W |b z|^p,    y = b z / a^(1/p)

    and, rectified, `a = (b0 sigma)^p + W [b z]+^p`, `y = [b z]+ / a^(1/p) - [-b z]+`: negative
    drive is neither normalized nor part of the pool. The circuit has p = 2. One product of a matrix
    and a vector; `z` is `(..., unit)` and leading axes broadcast. `xp` is `numpy` for NumPy arrays in
    their own precision.
    """
    drive = b * z
    active = drive if rectify == "none" else xp.maximum(drive, 0)
    power = xp.abs(active) ** exponent
    a = (b0 * sigma) ** exponent + (W @ power[..., None])[..., 0]
    # Without noise floor and without input a is 0, and so is the response.
    root = xp.where(a > 0, a, 1) ** (1 / exponent)
    return active / root + (drive - active), a


def normalization_jacobian(
    y: Float[Array, " unit"],
    a: Float[Array, " unit"],
    *,
    W_r: Weights,
    W: Float[Array, "unit unit"],
    tau_y: ArrayLike,
    tau_a: ArrayLike,
    rectify: Rectify = "none",
) -> Float[Array, "state state"]:
    """The Jacobian of the flow at `(y, a)`, rows and columns in the order `[y; a]`.

    Nothing in it asks `(y, a)` to be a rest point. At a kink (an entry of `y`, or of `W_r y` for
    outer rectification, or of `a` at 0) it is the one of the silent side. O(unit^2).
    """
    n = y.shape[0]
    identity = jnp.eye(n, dtype=y.dtype)
    recurrent = identity if W_r is None else W_r
    if rectify == "inner":
        recurrent = recurrent * (y > 0)
    drive = recurrent_drive(y, W_r, rectify)
    if rectify == "outer":
        recurrent = recurrent * (drive > 0)[:, None]
    active = y if rectify == "none" else jnp.maximum(y, 0)
    positive = a > 0
    rate = jnp.maximum(a, 0)
    root = safe_sqrt(rate)
    slope = jnp.where(positive, 0.5 / jnp.where(positive, root, 1), 0)
    yy = -identity + (1 - root)[:, None] * recurrent
    ya = jnp.diag(-slope * drive)
    ay = W * (2 * rate * active)
    aa = -identity + W * (active * active * positive)
    by_y = jnp.broadcast_to(jnp.asarray(tau_y, y.dtype), (n,))[:, None]
    by_a = jnp.broadcast_to(jnp.asarray(tau_a, y.dtype), (n,))[:, None]
    return jnp.block([[yy / by_y, ya / by_y], [ay / by_a, aa / by_a]])
