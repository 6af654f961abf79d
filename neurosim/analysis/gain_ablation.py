"""What each gain of a low-rank network is needed for: the same trials with some gains held."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from .activity import AnyArray
from .grouped_error import GroupedError, grouped_error
from .low_rank_factors import Numbers, check_vector, read_arrays
from .low_rank_reduction import exact_reduction, output_components
from .transfer_function import TransferFunction, check_function

#: One index of a gain, or several.
Indices = int | np.integer | np.ndarray | Sequence[Any]


class GainAblation(NamedTuple):
    """A network run with all gains free and with some held; see `ablate_gains`.

    - `held`: for each ablation the indices of the gains held.
    - `gains`: `(ablation, ..., time, gain)`.
    - `intact`: `(..., time, output)`, with all gains free. `outputs`: `(ablation, ..., time,
      output)`.
    - `intact_error`, `error`: their `GroupedError`, `(group,)` and `(ablation, group)`, or `None`
      without targets.
    """

    held: tuple[tuple[int, ...], ...]
    gains: AnyArray
    intact: AnyArray
    outputs: AnyArray
    intact_error: GroupedError | None
    error: GroupedError | None

    @property
    def error_change(self) -> AnyArray:
        """How much each ablation adds to the error of each group, `(ablation, group)`."""
        if self.error is None or self.intact_error is None:
            raise ValueError("there is no error without targets: give targets to ablate_gains.")
        return self.error.values - self.intact_error.values


def hold_gains(gains: Numbers, components: Indices, *, to: Numbers = "initial") -> AnyArray:
    """Gains of which some are held at a value for the whole trial.

    The published ablation holds one gain at its initial value; 0 takes the component out.

    **Arguments:**

    - `gains`: `(time, gain)` or `(trials, time, gain)`.
    - `components`: index, or indices, of the gains to hold, from 0 on.
    - `to`: `"initial"`, each trial's own gains at its first entry; `"mean"`, one number a gain,
      over all times and trials, which leaves nothing of what tells trials apart; a number; one for
      each gain held, `(held,)`; or what else has the shape of the gains held, `(time, held)` or
      `(trials, time, held)`.

    **Returns:** gains as given, with those held replaced; NumPy float64, or JAX if any argument is.

    **Raises:** `ValueError` for a bad layout, an index out of range or given twice, values that do
    not fit or are not finite.

    **Reference:** Costacurta et al. (2024), Fig. 3F.
    """
    xp, (s, value) = read_arrays(*_fixed(to), gains=gains, to=None if isinstance(to, str) else to)
    _check_gains_in_time(s)
    k = np.array(_indices(components, s.shape[-1]))
    if isinstance(to, str):
        if to not in ("initial", "mean"):
            raise ValueError(f"to must be 'initial', 'mean' or values, got {to!r}.")
        free = s[..., k]
        value = free[..., :1, :] if to == "initial" else free.mean(axis=tuple(range(s.ndim - 1)))
    shape = (*s.shape[:-1], len(k))
    try:
        value = xp.broadcast_to(value, shape)
    except ValueError:
        raise ValueError(
            f"to must be a number, ({len(k)},) or fit the gains held, of shape {shape}; got shape "
            f"{value.shape}."
        ) from None
    if xp is jnp:
        return s.at[..., k].set(value)
    held = s.copy()
    held[..., k] = value
    return held


def ablate_gains(
    L: Numbers,
    R: Numbers,
    B: Numbers,
    C: Numbers,
    inputs: Numbers,
    gains: Numbers,
    *,
    x0: Numbers,
    tau: Any,
    dt: Any = 1.0,
    d: Numbers | None = None,
    components: Sequence[Indices] | Indices | None = None,
    to: Numbers = "initial",
    targets: Numbers | None = None,
    mask: Numbers | None = None,
    groups: Any = None,
    phi: TransferFunction = jnp.tanh,
    rec_scale: Any = 1.0,
) -> GainAblation:
    """Run trials of a low-rank network again with gains held, and say what that does to the output.

    The free gains stay as given. In a network whose state feeds back to its modulator they would
    change with the ablation: run such a model itself with held gains instead.

    **Arguments:**

    - `L`, `R`: `(N, K)`. `B`: `(N, U)`. `C`: `(O, N)`, `d`: `(O,)` or `None`, the readout.
    - `inputs`: `(time, U)` or `(trials, time, U)`.
    - `gains`: `(time, gain)` or `(trials, time, gain)`, those used in each step (see
      `exact_reduction`); K of them, or 1.
    - `x0`, `tau`, `dt`, `phi`, `rec_scale`: as in `exact_reduction`.
    - `components`: what each ablation holds, an index or several; an index alone is one ablation,
      and by default each gain is held by itself.
    - `to`: what they are held at, as in `hold_gains`.
    - `targets`, `mask`, `groups`: for the error in each group of trials, as in `grouped_error`;
      groups may be the intervals that the trials ask for. Without targets there is no error.

    **Returns:** a `GainAblation`.

    **Raises:** `ValueError` as `exact_reduction`, `hold_gains` and `grouped_error`, for no
    ablations, or a mask or groups without targets.

    **Reference:** Costacurta et al. (2024), Fig. 3F.
    """
    check_function(phi)
    xp, (s, C, d, _) = read_arrays(
        "d", *_fixed(to), gains=gains, C=C, d=d, to=None if isinstance(to, str) else to
    )
    _check_gains_in_time(s)
    if targets is None and (mask is not None or groups is not None):
        raise ValueError("mask and groups are for the error: give targets too.")
    given: Any = range(s.shape[-1]) if components is None else components
    if np.isscalar(given) or getattr(given, "ndim", None) == 0:
        given = [given]
    sets = tuple(_indices(chosen, s.shape[-1]) for chosen in given)
    if len(sets) == 0:
        raise ValueError("components is empty: there is nothing to hold.")
    held = xp.stack([s, *(hold_gains(s, chosen, to=to) for chosen in sets)])
    n_trial_axes = max(np.ndim(inputs) - 2, s.ndim - 2, np.ndim(x0) - 1)
    if targets is not None and n_trial_axes == 0:
        raise ValueError(
            "an error is one of trials: give inputs or gains with a trial axis, as inputs[None]."
        )
    runs = held.reshape(len(held), *(1,) * (n_trial_axes + 2 - s.ndim), *s.shape)
    options = {"x0": x0, "tau": tau, "dt": dt, "phi": phi, "rec_scale": rec_scale}
    reduction = exact_reduction(L, R, B, inputs, gains=runs, **options)
    y = output_components(reduction, L, B, C, x0=x0).total
    if d is not None:
        check_vector(d, "d", axis_name="output", n=C.shape[0])
        y = y + d
    error = None
    if targets is not None:
        error = grouped_error(y, targets, mask=mask, groups=groups)
    return GainAblation(
        held=sets,
        gains=held[1:],
        intact=y[0],
        outputs=y[1:],
        intact_error=None if error is None else error._replace(values=error.values[0]),
        error=None if error is None else error._replace(values=error.values[1:]),
    )


def _fixed(to: Any) -> tuple[str, ...]:
    """The names that `read_arrays` may find missing: that of a rule in place of values."""
    return ("to",) if isinstance(to, str) else ()


def _check_gains_in_time(s: AnyArray) -> None:
    if s.ndim < 2 or s.size == 0:
        raise ValueError(
            f"gains must be (time, gain) or (trials, time, gain) and not empty, got {s.shape}."
        )


def _indices(components: Indices, n_gains: int) -> tuple[int, ...]:
    indices = np.atleast_1d(np.asarray(components))
    if indices.ndim != 1 or len(indices) == 0 or not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"components must be one or more whole numbers, got {components!r}.")
    wrong = [int(k) for k in indices if not 0 <= k < n_gains]
    if wrong:
        raise ValueError(f"gain index {wrong[0]} is out of range: there are {n_gains} gains.")
    if len(set(indices.tolist())) < len(indices):
        raise ValueError(f"components names a gain twice: {components!r}.")
    return tuple(int(k) for k in indices)
