"""The energy of a normalization circuit: distance from the normalized response, and mismatch."""

from typing import Any, NamedTuple

import numpy as np

from .known_arrays import read_known
from .low_rank_factors import Numbers
from .normalization_circuit import NormalizationCircuit, known_circuit
from .normalization_stability import driven_weights


class NormalizationEnergy(NamedTuple):
    """Energy of states, and its parts by neuron; see `normalization_energy`."""

    total: Any
    response: np.ndarray
    mismatch: np.ndarray
    driven: np.ndarray


class EnergyDecay(NamedTuple):
    """Quadratic energy of states, and how fast it falls; see `energy_decay`."""

    energy: Any
    rate: Any
    driven: np.ndarray


def normalization_energy(
    y: Numbers,
    a: Numbers,
    z: Numbers,
    *,
    W: Numbers,
    sigma: Numbers,
    b: Numbers,
    b0: Numbers,
    tau_y: Numbers,
    tau_a: Numbers,
    rectify: str = "none",
) -> NormalizationEnergy:
    """The energy of states of a circuit with W_r = I, which falls as the circuit comes to rest.

        V = sum_i t_i (a_si / y_si^2) [ (tau_yi / tau_ai) sqrt(a_si) (y_i - y_si)^2
                                        + (sqrt(a_i) y_i - b_i z_i)^2 ]

    The first part is the distance from the normalized response y_s; the second the mismatch of what
    the circuit, by its gain, makes of the input with the gated input. Weak input weighs the second,
    strong input the first. It falls along every trajectory near the rest point; far from it, it may
    rise.

    Units without drive (z = 0, or z <= 0 where rectified) have no such energy, and are left out:
    `driven` says which ones are in. They follow the others.

    ```python
    normalization_energy(
        run.states.y, run.states.a, z, W=W, sigma=0.1, b=0.5, b0=0.5, tau_y=0.002, tau_a=0.002
    ).total
    ```

    **Arguments:**

    - `y`, `a`: `(..., n)`, states, such as `(trials, time, n)`; `a` not negative.
    - `z`: `(n,)`, or `(..., n)` that broadcasts against the states, such as `(trials, 1, n)`.
    - `W`, `sigma`, `b`, `b0`, `tau_y`, `tau_a`, `rectify`: as for `oscillator_form`.

    **Returns:** `NormalizationEnergy`, NumPy:

    - `total`: `(...)`, V; without unit, and not to be compared between inputs.
    - `response`, `mismatch`: `(..., n)`, its two parts by neuron, 0 for units without drive.
    - `driven`: `(..., n)`, booleans.

    **Raises:** `ValueError` as `oscillator_form` does, for states that do not fit, and for negative
    `a`. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Rawat, Heeger & Martiniani (2024), Unconditional stability of a recurrent neural
    circuit implementing divisive normalization, NeurIPS 37, Eq. 13 and 14.
    """
    circuit, states, rates = _read(
        y, a, z, "normalization_energy",
        W=W, sigma=sigma, b=b, b0=b0, tau_y=tau_y, tau_a=tau_a, rectify=rectify,
    )  # fmt: skip
    if (rates < 0).any():
        raise ValueError(f"a must not be negative, got {rates.min():g}.")
    y_s, a_s = circuit.rest()
    t, _ = driven_weights(circuit)
    weight = t * a_s / _where_driven(circuit, y_s) ** 2 * circuit.driven
    ratio = circuit.tau_y / circuit.tau_a
    response = weight * ratio * np.sqrt(a_s) * (states - y_s) ** 2
    active = states if circuit.rectify == "none" else np.maximum(states, 0)
    mismatch = weight * (np.sqrt(rates) * active - circuit.b * circuit.z) ** 2
    total = (response + mismatch).sum(axis=-1)
    return NormalizationEnergy(
        total if total.ndim else float(total), response, mismatch, circuit.driven
    )


def energy_decay(
    y: Numbers,
    a: Numbers,
    z: Numbers,
    *,
    W: Numbers,
    sigma: Numbers,
    b: Numbers,
    b0: Numbers,
    tau_y: Numbers,
    tau_a: Numbers,
    rectify: str = "none",
) -> EnergyDecay:
    """The quadratic energy of states about the rest point, and the rate at which it falls.

    On the flow linearised there, E = sum_i t_i (x_i'^2 + K_i x_i^2) falls at exactly
    x'^T (diag(t) B + B^T diag(t)) x' >= 0, with x_i = sqrt(a_si) tau_yi (y_i - y_si) / y_si. It is
    `normalization_energy` to second order, and the rate is 0 where x' is, not only at rest.

    **Arguments:** those of `normalization_energy`; `a` may have either sign.

    **Returns:** `EnergyDecay`, NumPy:

    - `energy`: `(...)`, E.
    - `rate`: `(...)`, -dE/dt, per unit of time.
    - `driven`: `(..., n)`, the units that count.

    **Raises:** `ValueError` as `normalization_energy` does, but for the sign of `a`. `TypeError`
    under `jit`, `grad` or `vmap`.

    **Reference:** Rawat, Heeger & Martiniani (2024), appendix H.
    """
    circuit, states, rates = _read(
        y, a, z, "energy_decay",
        W=W, sigma=sigma, b=b, b0=b0, tau_y=tau_y, tau_a=tau_a, rectify=rectify,
    )  # fmt: skip
    y_s, a_s = circuit.rest()
    t, symmetric = driven_weights(circuit)
    relative = (states - y_s) / _where_driven(circuit, y_s) * circuit.driven
    x = np.sqrt(a_s) * circuit.tau_y * relative
    speed = -a_s * relative - (rates - a_s) / 2 * circuit.driven
    stiffness = np.sqrt(a_s) / (circuit.tau_y * circuit.tau_a)
    energy = (t * (speed**2 + stiffness * x**2)).sum(axis=-1)
    rate = np.einsum("...i,...ij,...j->...", speed, symmetric, speed)
    scalar = energy.ndim == 0
    return EnergyDecay(
        float(energy) if scalar else energy, float(rate) if scalar else rate, circuit.driven
    )


def _where_driven(circuit: NormalizationCircuit, y_s: Any) -> np.ndarray:
    return np.where(circuit.driven, y_s, 1)


def _read(
    y: Numbers, a: Numbers, z: Numbers, what: str, **given: Any
) -> tuple[NormalizationCircuit, np.ndarray, np.ndarray]:
    """The circuit and states, which broadcast against one another."""
    circuit = known_circuit(what, z, **given)
    states, rates = read_known(what, y=y, a=a)
    n = circuit.z.shape[-1]
    if states.shape != rates.shape or states.ndim == 0 or states.shape[-1] != n:
        raise ValueError(
            f"y and a must both be (..., n) with n = {n}, as z has, got {states.shape} and "
            f"{rates.shape}."
        )
    try:
        np.broadcast_shapes(states.shape, circuit.z.shape)
    except ValueError:
        raise ValueError(
            f"the leading axes of z, {circuit.z.shape[:-1]}, do not fit those of the states, "
            f"{states.shape[:-1]}: of each trial, z is (trials, 1, n)."
        ) from None
    return circuit, states, rates
