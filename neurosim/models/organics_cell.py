"""ORGaNICs as a recurrent cell for sequences: divisive normalization with gains that adapt."""

import dataclasses
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels.divisive_normalization import Rectify
from ..kernels.spectral_norm import spectrally_normalized
from .dynamics import Dynamics, fixed_field
from .parameters import check_sizes, check_time_constant
from .prepared_organics_cell import ORGaNICsCellState, PreparedORGaNICsCell

#: What the recurrent matrix is made of.
Recurrence = Literal["free", "identity", "spectral", "diagonal", "identity_plus"]


def _as_shares(kappa_max: Any) -> tuple[float, ...]:
    """Three floats, of y, of a and of both gains, so that they can be part of a program."""
    values = np.asarray(kappa_max, float)
    if values.shape != (3,) or not np.all((values > 0) & (values <= 1)):
        raise ValueError(
            "kappa_max must be three numbers above 0 and at most 1, of y, of a and of both gains, "
            f"got {kappa_max}."
        )
    return tuple(values.tolist())


class LearnedTimeConstants(eqx.Module):
    """Time constants as logits of `k = dt / tau` over its largest value, `(N,)` each."""

    y: Float[Array, " unit"]
    a: Float[Array, " unit"]
    b: Float[Array, " unit"]
    b0: Float[Array, " unit"]


class FixedTimeConstants(eqx.Module):
    """As `LearnedTimeConstants`, but they do not train by default."""

    y: Float[Array, " unit"] = fixed_field()
    a: Float[Array, " unit"] = fixed_field()
    b: Float[Array, " unit"] = fixed_field()
    b0: Float[Array, " unit"] = fixed_field()


class ORGaNICsCell(Dynamics):
    """The circuit of divisive normalization with dynamic gains, in discrete time.

        y  <- y  + k_y  (-y + b z + (1 - sqrt([a]+)) R(y)),    z = W_zx x or [W_zx x]+
        a  <- a  + k_a  (-a + (b0 sigma)^2 + W ([y]+^2 [a]+))
        b  <- b  + k_b  (-b  + f(W_bx x + W_by y + W_ba a))
        b0 <- b0 + k_b0 (-b0 + f(W_b0x x + W_b0y y + W_b0a a))

    with f the logistic function and every right-hand side that of the old state. The vector field
    is the flow of which this is the Euler step of length `dt_step`: `tau = dt_step / k`.

    - `W_r`: `(N, N)`, of `R`, by `recurrence`: `"free"` W_r itself; `"spectral"` W_r over its
      largest singular value; `"identity_plus"` the identity plus that; `"diagonal"` a diagonal
      f(W_r) of `(N,)` logits; `"identity"`, where it is `None`, and not trained.
    - `log_W`: `(N, N)`; the normalization weights are `W = min(exp(log_W), 1)`.
    - `W_zx`, `W_bx`, `W_b0x`: `(N, U)`. `W_by`, `W_ba`, `W_b0y`, `W_b0a`: `(N, N)`.
    - `C`: `(O, N)`, `d`: `(O,)`.
    - `theta`: logits of `k = kappa_max f(theta)`: `LearnedTimeConstants`, or `FixedTimeConstants`,
      which do not train unless `trainable` of `fit` names them.
    - `sigma`: `(N,)` semisaturation; `start`: the initial state; `dt_step`: the length of a step,
      a step by default. They do not train by default.
    - `kappa_max`: largest shares of y, of a, and of both gains.
    - `rectify`: `"outer"`, R = [W_r y]+ (the released code); `"inner"`, W_r [y]+; `"none"`, W_r y,
      with y^2 in place of [y]+^2. `rectify_input`: whether z is rectified (the released code).
    - `readout_on`: `"y"`, C y + d; or `"rate"`, C [y]+^2 + d.

    **Reference:** Rawat, Heeger & Martiniani (2024), Unconditional stability of a recurrent neural
    circuit implementing divisive normalization, NeurIPS 37, Eq. 17 and appendix I.2.
    """

    W_r: Float[Array, "unit unit"] | Float[Array, " unit"] | None
    log_W: Float[Array, "unit unit"]
    W_zx: Float[Array, "unit input"]
    W_bx: Float[Array, "unit input"]
    W_by: Float[Array, "unit unit"]
    W_ba: Float[Array, "unit unit"]
    W_b0x: Float[Array, "unit input"]
    W_b0y: Float[Array, "unit unit"]
    W_b0a: Float[Array, "unit unit"]
    C: Float[Array, "output unit"]
    d: Float[Array, " output"]
    theta: LearnedTimeConstants | FixedTimeConstants
    sigma: Float[Array, " unit"] = fixed_field()
    start: ORGaNICsCellState = fixed_field()
    dt_step: Any = fixed_field(default=1.0)
    recurrence: Recurrence = eqx.field(static=True, default="free")
    kappa_max: tuple[float, ...] = eqx.field(
        static=True, default=(0.05, 0.01, 0.1), converter=_as_shares
    )
    rectify: Rectify = eqx.field(static=True, default="outer")
    rectify_input: bool = eqx.field(static=True, default=True)
    readout_on: Literal["y", "rate"] = eqx.field(static=True, default="y")

    def __check_init__(self):
        check_time_constant(dt_step=self.dt_step, sigma=self.sigma)
        for name, known in (
            ("recurrence", get_args(Recurrence)),
            ("rectify", get_args(Rectify)),
            ("readout_on", ("y", "rate")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}."
                )
        rank = {"identity": 0, "diagonal": 1}.get(self.recurrence, 2)
        given = 0 if self.W_r is None else jnp.ndim(self.W_r)
        if given != rank:
            raise ValueError(
                f"recurrence {self.recurrence!r} cannot be had from this W_r: it is None for "
                "'identity', of shape (N,) for 'diagonal', and (N, N) else; got "
                f"{None if self.W_r is None else jnp.shape(self.W_r)}."
            )

    @classmethod
    def init(
        cls,
        n_units: int,
        n_in: int,
        n_out: int,
        *,
        key: PRNGKeyArray,
        learn_tau: bool = True,
        kappa_max: Any = (0.05, 0.01, 0.1),
        recurrence: Recurrence = "free",
        rectify: Rectify = "outer",
        rectify_input: bool = True,
        readout_on: Literal["y", "rate"] = "y",
    ) -> "ORGaNICsCell":
        """The published initialisation.

        W_r a random orthogonal matrix; W ~ U(0, 1) with diagonal 1; W_zx uniform, divided by its
        largest singular value; the six matrices of the gains and C, d ~ U(-1, 1) over the square
        root of the number of inputs; theta ~ N(0, 1); sigma = 1; y ~ U(0, 1) normalised to length
        1, a and b ~ U(0, 1), b0 = 1. The diagonal f(W_r) has W_r ~ N(0, 1), which is ours.

        Without its readout it has `6 N^2 + 3 N U + 4 N` trainable parameters: with it 25,674 for 64
        units, one input and ten classes, and 100,490 for 128.

        **Arguments:**

        - `n_units`, `n_in`, `n_out`: N, U, O.
        - `learn_tau`: `False` for the published ablation: theta is 1, and does not train.
        - the rest as in the class.

        **Raises:** `ValueError` for sizes below 1, a `kappa_max` outside of (0, 1], and words that
        are not known.
        """
        check_sizes(n_units=n_units, n_in=n_in, n_out=n_out)
        kappa_max = _as_shares(kappa_max)
        keys = iter(jax.random.split(key, 18))

        def uniform(*shape: int, low: float = 0.0) -> Array:
            return jax.random.uniform(next(keys), shape, minval=low)

        def scaled(rows: int, columns: int) -> Array:
            return uniform(rows, columns, low=-1.0) / jnp.sqrt(columns)

        def theta() -> Array:
            drawn = jax.random.normal(next(keys), (n_units,))
            return drawn if learn_tau else jnp.ones_like(drawn)

        W = jnp.maximum(uniform(n_units, n_units), 1e-8)
        W_zx = scaled(n_units, n_in)
        y = uniform(n_units)
        k_r = next(keys)
        if recurrence == "identity":
            W_r = None
        elif recurrence == "diagonal":
            W_r = jax.random.normal(k_r, (n_units,))
        else:
            W_r = jax.random.orthogonal(k_r, n_units)
        return cls(
            W_r=W_r,
            log_W=jnp.log(W.at[jnp.diag_indices(n_units)].set(1)),
            W_zx=W_zx / jnp.linalg.norm(W_zx, 2),
            W_bx=scaled(n_units, n_in),
            W_by=scaled(n_units, n_units),
            W_ba=scaled(n_units, n_units),
            W_b0x=scaled(n_units, n_in),
            W_b0y=scaled(n_units, n_units),
            W_b0a=scaled(n_units, n_units),
            C=scaled(n_out, n_units),
            d=uniform(n_out, low=-1.0) / jnp.sqrt(n_units),
            theta=(LearnedTimeConstants if learn_tau else FixedTimeConstants)(
                theta(), theta(), theta(), theta()
            ),
            sigma=jnp.ones(n_units),
            start=ORGaNICsCellState(
                y / jnp.linalg.norm(y), uniform(n_units), uniform(n_units), jnp.ones(n_units)
            ),
            recurrence=recurrence,
            kappa_max=kappa_max,
            rectify=rectify,
            rectify_input=rectify_input,
            readout_on=readout_on,
        )

    @property
    def n_inputs(self) -> int:
        """Number of input channels."""
        return self.W_zx.shape[1]

    @property
    def W(self) -> Float[Array, "unit unit"]:
        """Normalization weights, `(N, N)`, in (0, 1]. No derivative where they are held at 1."""
        held = self.log_W > 0
        return jnp.where(held, 1, jnp.exp(jnp.where(held, 0, self.log_W)))

    @property
    def recurrent_matrix(self) -> Float[Array, "unit unit"] | None:
        """The recurrent weights as the cell uses them, `(N, N)`; `None` for the identity."""
        if self.W_r is None or self.recurrence == "free":
            return self.W_r
        if self.recurrence == "diagonal":
            return jnp.diag(jax.nn.sigmoid(self.W_r))
        scaled = spectrally_normalized(self.W_r)
        return scaled if self.recurrence == "spectral" else jnp.eye(len(scaled)) + scaled

    @property
    def kappa(self) -> ORGaNICsCellState:
        """Shares of its way that each neuron makes in a step, `(N,)` each."""
        of_y, of_a, of_b = self.kappa_max
        theta = self.theta
        return ORGaNICsCellState(
            of_y * jax.nn.sigmoid(theta.y),
            of_a * jax.nn.sigmoid(theta.a),
            of_b * jax.nn.sigmoid(theta.b),
            of_b * jax.nn.sigmoid(theta.b0),
        )

    @property
    def time_constants(self) -> dict[str, Any]:
        """The time constants of the leaks by name, in the unit of `dt_step`."""
        return {f"tau_{k}": self.dt_step / v for k, v in self.kappa._asdict().items()}

    def to_ode(self, dt: Any) -> "ORGaNICsCell":
        """The same cell with steps of length `dt`: its time constants are in the unit of `dt`.

        As an ordinary differential equation: `simulate(cell.to_ode(1e-3), x, dt=1e-3,
        solver=diffrax.Tsit5())`, or the Jacobian of its `vector_field`, per second.
        """
        return dataclasses.replace(self, dt_step=dt)

    def prepared(self) -> "PreparedORGaNICsCell":
        """The same cell with its matrices worked out, and stacked by what they multiply."""
        return PreparedORGaNICsCell(
            W_x=jnp.concatenate([self.W_zx, self.W_bx, self.W_b0x]),
            W_gains=jnp.block([[self.W_by, self.W_ba], [self.W_b0y, self.W_b0a]]),
            W=self.W,
            W_r=self.recurrent_matrix,
            kappa=self.kappa,
            sigma=self.sigma,
            start=self.start,
            dt_step=self.dt_step,
            C=self.C,
            d=self.d,
            rectify=self.rectify,
            rectify_input=self.rectify_input,
            readout_on=self.readout_on,
        )

    def initial_state(self) -> ORGaNICsCellState:
        """`start`."""
        return self.start

    def vector_field(self, t: Any, state: ORGaNICsCellState, input: Any) -> ORGaNICsCellState:
        """The derivatives of `(y, a, b, b0)`, per unit of `dt_step`."""
        return self.prepared().vector_field(t, state, input)

    def step(self, t: Any, state: ORGaNICsCellState, input: Any, dt: Any) -> ORGaNICsCellState:
        """The published recursion, for `dt = dt_step`; for another, that share of it."""
        return self.prepared().step(t, state, input, dt)

    def readout(self, state: ORGaNICsCellState) -> Float[Array, " output"]:
        """`C y + d` or `C [y]+^2 + d`, `(O,)`."""
        return self.prepared().readout(state)
