"""What SOFO refuses before it starts."""

import math
import warnings
from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh
from jaxtyping import PyTree

from ..kernels import whole_number
from .levenberg_marquardt import LevenbergMarquardt
from .parameter_checks import check_leaves
from .sketch_solver import DAMPING_MODES
from .tangent_samplers import TangentSampler
from .update_rule import called

_KINDS = {
    "tangents": TangentSampler,
    "adapt": LevenbergMarquardt,
    "optimizer": optax.GradientTransformation,
    "mesh": Mesh,
}

#: Above it nothing moves, and float32 is near its end.
_MOST_DAMPING = 1e20


def check_options(sofo: Any) -> None:
    """Refuse options of a `SOFO` that are out of range or do not go together.

    **Raises:** `ValueError` that names the option.
    """
    for name in ("n_tangents", "max_rejections"):
        if getattr(sofo, name) < 1:
            raise ValueError(f"{name} must be at least 1, got {getattr(sofo, name)}.")
    if sofo.chunk_size is not None:
        whole_number(sofo.chunk_size, "chunk_size", least=1)
    for name, kind in _KINDS.items():
        value = getattr(sofo, name)
        if value is not None and not isinstance(value, kind):
            raise ValueError(f"{name} must be a {kind.__name__}, got {called(value)}.")
    rate = sofo.learning_rate
    if sofo.optimizer is None:
        if not callable(rate) and not _is_positive_number(rate):
            raise ValueError(f"learning_rate must be a positive number or a schedule, got {rate}.")
    elif sofo.momentum or sofo.adapt is not None:
        raise ValueError("momentum and adapt belong to learning_rate, not to an optimizer.")
    if sofo.keep_last and sofo.n_tangents < 2:
        raise ValueError("keep_last needs n_tangents of at least 2: one is the last direction.")
    damping = sofo.damping
    if not isinstance(damping, jax.core.Tracer) and not 0 <= damping < _MOST_DAMPING:
        raise ValueError(f"damping must be finite and not negative, got {damping}.")
    if sofo.damping_mode not in DAMPING_MODES:
        raise ValueError(
            f"damping_mode must be one of {', '.join(DAMPING_MODES)}, got {sofo.damping_mode!r}."
        )
    if sofo.largest_increase is not None and not sofo.largest_increase >= 1:
        raise ValueError(f"largest_increase must be at least 1, got {sofo.largest_increase}.")
    if not 0 <= sofo.power <= 1:
        raise ValueError(f"power must be in [0, 1], got {sofo.power}.")
    if not 0 <= sofo.momentum < 1:
        raise ValueError(f"momentum must be in [0, 1), got {sofo.momentum}.")
    if sofo.momentum and sofo.adapt is not None:
        raise ValueError("adapt foretells the decrease of a step without momentum.")
    if sofo.adapt is not None and not isinstance(damping, jax.core.Tracer) and not damping > 0:
        raise ValueError("adapt needs a positive damping to start from.")


def _is_positive_number(rate: Any) -> bool:
    if isinstance(rate, jax.core.Tracer):
        return rate.shape == ()
    if not eqx.is_array_like(rate) or np.shape(rate) != ():
        return False
    return bool(0 < rate < math.inf)


def check_parameters(sofo: Any, params: PyTree) -> None:
    """Refuse parameters that a `SOFO` cannot train, and warn of damping below rounding.

    **Raises:** `ValueError` that names the leaf or the number.
    """
    check_leaves("SOFO", params)
    leaves = jax.tree.leaves(params)
    size = sum(leaf.size for leaf in leaves)
    if sofo.n_tangents * (1 + sofo.orthogonal_to) > size:
        more = f" (with those of {sofo.orthogonal_to} earlier updates)"
        raise ValueError(
            f"n_tangents = {sofo.n_tangents}{more if sofo.orthogonal_to else ''} exceeds the "
            f"{size} trainable parameters."
        )
    sofo.tangents.check(params, sofo.n_tangents - sofo.keep_last)
    single = jnp.result_type(float) != jnp.float64
    traced = isinstance(sofo.damping, jax.core.Tracer)
    if single and not traced and sofo.damping_mode != "absolute" and 0 < sofo.damping < 1e-6:
        warnings.warn(
            f"a damping of {sofo.damping:g} is below the rounding of float32 and damps "
            "nothing: take 1e-6 or more, or switch JAX to float64.",
            stacklevel=2,
        )
