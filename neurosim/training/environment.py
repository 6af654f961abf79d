"""The software and the settings that a result was computed with."""

import platform
from typing import Any

import diffrax
import equinox as eqx
import jax
import jaxlib
import numpy as np
import optax


def environment() -> dict[str, Any]:
    """Versions, backend, precision and PRNG: what decides the bits beside the config."""
    from .. import __version__

    return {
        "python": platform.python_version(),
        "neurosim": __version__,
        "jax": jax.__version__,
        "jaxlib": jaxlib.__version__,
        "equinox": eqx.__version__,
        "diffrax": diffrax.__version__,
        "optax": optax.__version__,
        "numpy": np.__version__,
        "backend": jax.default_backend(),
        "precision": "float64" if jax_setting("jax_enable_x64") else "float32",
        "prng": str(jax_setting("jax_default_prng_impl")),
        "threefry_partitionable": bool(jax_setting("jax_threefry_partitionable")),
    }


def jax_setting(name: str) -> Any:
    """A global setting of JAX as it is now."""
    # Attributes that JAX makes at run time, so type checkers do not know them.
    return getattr(jax.config, name)
