"""The linear readout that most of the circuits have."""

from typing import Any

from jaxtyping import Array, Float


def linear_readout(C: Any, d: Any, x: Float[Array, " unit"]) -> Float[Array, " output"]:
    """`C x + d`, or `C x` without `d`; without `C` what is read out, `x` itself."""
    y = x if C is None else C @ x
    return y if d is None else y + d
