"""What describes a circuit of divisive normalization, as arrays from anywhere, read and checked.

n pairs of a principal neuron y and a normalization neuron a; the analyses of this room name them
alike, and take one circuit or many: leading axes broadcast against one another.
"""

import dataclasses
from typing import Any

import numpy as np

from ..kernels import normalized_response
from .activity import AnyArray, is_traced
from .estimator import refuse_traced
from .known_arrays import in_numpy
from .low_rank_factors import Numbers, read_arrays

_PER_UNIT = ("b", "b0", "sigma", "tau_y", "tau_a")


@dataclasses.dataclass(frozen=True)
class NormalizationCircuit:
    """Input and parameters of circuits whose recurrent matrix is the identity.

    - `xp`: the module to compute with, `numpy` or `jax.numpy`.
    - `z`: `(..., n)`, the input drive. `W`: `(..., n, n)`, not negative.
    - `parameters`: `b`, `b0`, `sigma`, `tau_y`, `tau_a`, those that were given, each a number or
      `(..., n)`, positive.
    - `rectify`: where y is rectified.
    """

    xp: Any
    z: AnyArray
    W: AnyArray
    parameters: dict[str, AnyArray]
    rectify: Any

    def __getattr__(self, name: str) -> AnyArray:
        if name not in _PER_UNIT:
            raise AttributeError(name)
        return self.parameters[name]

    @property
    def driven(self) -> Any:
        """Where a unit takes part in normalization: its drive is not 0, or above 0 if rectified."""
        return self.z != 0 if self.rectify == "none" else self.z > 0

    def pool(self, x: AnyArray) -> AnyArray:
        """`W x`, `(..., n)`."""
        return (self.W @ x[..., None])[..., 0]

    def rest(self, exponent: Any = 2) -> tuple[AnyArray, AnyArray]:
        """The rest point (y, a), both `(..., n)`."""
        return normalized_response(
            self.z, W=self.W, b=self.b, b0=self.b0, sigma=self.sigma, rectify=self.rectify,
            exponent=exponent, xp=self.xp,
        )  # fmt: skip


def read_circuit(
    z: Numbers, *, W: Numbers, rectify: str, **parameters: Numbers
) -> NormalizationCircuit:
    """A circuit in NumPy float64, or in JAX if any value is JAX's.

    **Raises:** `ValueError` for shapes that do not fit, values that are missing, masked or not
    finite, a negative weight, another parameter that is not positive, or another `rectify`. Values
    are checked only where they are known, so not under `jit`.
    """
    if rectify not in ("none", "inner", "outer"):
        raise ValueError(f"rectify must be 'none', 'inner' or 'outer', got {rectify!r}.")
    xp, (drive, weights, *values) = read_arrays(z=z, W=W, **parameters)
    if drive.ndim == 0 or 0 in drive.shape:
        raise ValueError(f"z must be (..., n) and not empty, got shape {drive.shape}.")
    n = drive.shape[-1]
    if weights.ndim < 2 or weights.shape[-2:] != (n, n):
        raise ValueError(f"W must be (..., n, n) with n = {n}, as z has, got {weights.shape}.")
    shapes = [drive.shape, (*weights.shape[:-2], n)]
    for name, value in zip(parameters, values, strict=True):
        if value.ndim > 0 and value.shape[-1] not in (1, n):
            raise ValueError(
                f"{name} must be a number or (..., n) with n = {n}, as z has, got {value.shape}."
            )
        shapes.append(value.shape)
        _refuse(value, name, lambda x: x <= 0, "positive")
    _refuse(weights, "W", lambda x: x < 0, "without negative entries")
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(f"{k} {s}" for k, s in zip(("z", "W row", *parameters), shapes))
        raise ValueError(f"leading axes do not fit one another: {listed}.") from None
    whole = xp.broadcast_to(drive, shape)
    return NormalizationCircuit(
        xp, whole, weights, dict(zip(parameters, values, strict=True)), rectify
    )


def known_circuit(what: str, z: Numbers, **given: Any) -> NormalizationCircuit:
    """As `read_circuit`, in NumPy float64 whatever is given.

    `what` names the analysis for a `TypeError` where values are not known, under `jit`, `grad` or
    `vmap`.
    """
    refuse_traced([z, given], what)
    return read_circuit(in_numpy(z), **{name: in_numpy(value) for name, value in given.items()})


def _refuse(values: AnyArray, name: str, bad: Any, needed: str) -> None:
    if is_traced(values):
        return
    known = np.asarray(values)
    places = np.argwhere(bad(known))
    if len(places) > 0:
        place = tuple(int(i) for i in places[0])
        at = f" at index {place}" if place else ""
        raise ValueError(f"{name} must be {needed}, got {known[place]:g}{at}.")
