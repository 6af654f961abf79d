"""Divisive normalization as a feed-forward network: every layer where its circuit rests."""

from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels.divisive_normalization import Rectify
from .dynamics import Dynamics, fixed_field
from .normalization_layer import NormalizationLayer
from .parameters import check_sizes, check_time_constant


class StaticORGaNICsState(NamedTuple):
    """Principal and normalization neurons of each layer: tuples of `(N,)` arrays."""

    y: tuple[Any, ...]
    a: tuple[Any, ...]


class StaticORGaNICs(Dynamics):
    """Normalization layers in a row, and a linear readout of the squared rates of the last.

        (y_1, a_1) = layer_1(x),    (y_k, a_k) = layer_k([y_k-1]+^2),    output = C [y_K]+^2 + d

    A discrete recursion without memory: a step has the state at rest for its input, whatever the
    state before and whatever `dt`. Trials of one time step train it. The vector field is the flow
    that relaxes to there with the time constant `tau`; the circuits' own have their Jacobians in
    `jacobians`.

    - `layers`: `NormalizationLayer`s. `C`: `(O, N)`, `d`: `(O,)`.
    - `tau`: does not train by default.

    **Reference:** Rawat, Heeger & Martiniani (2024), Unconditional stability of a recurrent neural
    circuit implementing divisive normalization, NeurIPS 37, section 6 and appendix I.1.
    """

    layers: tuple[NormalizationLayer, ...]
    C: Float[Array, "output unit"]
    d: Float[Array, " output"]
    tau: Any = fixed_field(default=1.0)
    discrete: ClassVar[bool] = True

    def __check_init__(self):
        check_time_constant(tau=self.tau)
        if not self.layers:
            raise ValueError("layers must hold at least one layer.")
        for k, (before, after) in enumerate(zip(self.layers[:-1], self.layers[1:])):
            if before.n_units != after.n_inputs:
                raise ValueError(
                    f"layer {k + 1} takes {after.n_inputs} inputs, and the layer before it has "
                    f"{before.n_units} units."
                )

    @classmethod
    def init(
        cls,
        n_in: int,
        n_units: int | tuple[int, ...],
        n_out: int,
        *,
        key: PRNGKeyArray,
        recurrence: Literal["identity", "spectral"] = "identity",
        weight_scale: float | int = 1.0,
        rectify: Rectify = "none",
    ) -> "StaticORGaNICs":
        """Layers as `NormalizationLayer.init` has them; C, d ~ U(-1, 1) / sqrt(N).

        **Arguments:**

        - `n_in`, `n_out`: numbers of inputs and outputs.
        - `n_units`: principal neurons of the layer, or of each of several.
        - `recurrence`, `weight_scale`, `rectify`: as in `NormalizationLayer.init`.

        **Raises:** `ValueError` as there, and for no layer at all.
        """
        sizes = n_units if isinstance(n_units, tuple) else (n_units,)
        if not sizes:
            raise ValueError("n_units must name at least one layer, got ().")
        check_sizes(n_out=n_out)
        k_c, k_d, *keys = jax.random.split(key, 2 + len(sizes))
        layers = tuple(
            NormalizationLayer.init(
                n, before, key=k, recurrence=recurrence, weight_scale=weight_scale, rectify=rectify
            )
            for before, n, k in zip((n_in, *sizes), sizes, keys)
        )
        root = jnp.sqrt(sizes[-1])
        return cls(
            layers=layers,
            C=jax.random.uniform(k_c, (n_out, sizes[-1]), minval=-1, maxval=1) / root,
            d=jax.random.uniform(k_d, (n_out,), minval=-1, maxval=1) / root,
        )

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return self.layers[0].n_inputs

    def initial_state(self) -> StaticORGaNICsState:
        """Silence: y = 0, and a at its baseline."""
        return StaticORGaNICsState(
            tuple(jnp.zeros_like(layer.beta) for layer in self.layers),
            tuple((layer.b0 * layer.sigma) ** 2 for layer in self.layers),
        )

    def rest(self, x: Float[Array, " input"]) -> StaticORGaNICsState:
        """Where every layer rests while an input is held."""
        ys, activities = [], []
        for layer in self.layers:
            y, a = layer(x)
            ys.append(y)
            activities.append(a)
            x = _rates(y)
        return StaticORGaNICsState(tuple(ys), tuple(activities))

    def step(self, t: Any, state: StaticORGaNICsState, input: Any, dt: Any) -> StaticORGaNICsState:
        """The state at rest for the input."""
        return self.rest(input)

    def vector_field(self, t: Any, state: StaticORGaNICsState, input: Any) -> StaticORGaNICsState:
        """`(rest - state) / tau`."""
        return jax.tree.map(lambda new, old: (new - old) / self.tau, self.rest(input), state)

    def readout(self, state: StaticORGaNICsState) -> Float[Array, " output"]:
        """`C [y]+^2 + d` of the last layer, `(O,)`."""
        return self.C @ _rates(state.y[-1]) + self.d

    def jacobians(
        self, x: Float[Array, " input"], *, tau_y: Any = 1.0, tau_a: Any = 1.0
    ) -> tuple[Float[Array, "state state"], ...]:
        """The Jacobian of each layer's circuit where it rests, `(2N, 2N)` each.

        With equal time constants and `tau = 1` the real parts of their eigenvalues are in units of
        1 / tau, and the largest is negative where the circuit is stable.
        """
        found = []
        for layer in self.layers:
            found.append(layer.jacobian(x, tau_y=tau_y, tau_a=tau_a))
            x = _rates(layer(x)[0])
        return tuple(found)


def _rates(y: Array) -> Array:
    return jnp.maximum(y, 0) ** 2
