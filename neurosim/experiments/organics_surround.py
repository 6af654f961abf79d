"""Size tuning, plaids and supersaturation: normalization circuits beside the SSN."""

from typing import Any

import numpy as np

from ..analysis import normalization_equation, summation_index, surround_suppression
from ..models import (
    SSN,
    line_input,
    ring_input,
    ssn_line,
    ssn_orientation_ring,
    ssn_two_population,
)
from .organics_responses import GAIN, SIGMA


def size_tuning(config: Any) -> tuple[dict[str, Any], list[list[str]]]:
    """Size tuning: a pool wider than the drive in ORGaNICs, recurrent inhibition in the SSN."""
    del config
    x = np.arange(-40, 41) * 0.5
    d = np.abs(x[:, None] - x)
    narrow, wide = (np.exp(-(d**2) / (2 * s**2)) for s in (1.0, 5.0))
    sizes = np.array([0.5, 1, 2, 3, 4, 6, 9, 13, 18, 27])
    contrasts = np.array([0.1, 1.0])
    drive = np.stack([
        c * np.stack([(narrow / narrow.sum(1, keepdims=True)) @ (np.abs(x) <= size / 2)
                      for size in sizes])
        for c in contrasts
    ])  # fmt: skip
    pool = wide / wide.sum(1, keepdims=True)
    centre = len(x) // 2
    y = normalization_equation(drive, W=pool, sigma=SIGMA, b=GAIN).y[..., centre] ** 2
    line = ssn_line()
    fixed = (1.0, 3.0, 9.0, 27.0)
    ssn = np.array([line.fixed_point(line_input(50.0, length)).r for length in fixed])
    tuned = [surround_suppression(sizes, curve) for curve in y]
    rows = [
        [f"ORGaNICs, preferred size and suppression at contrast {c:g}",
         f"{t.preferred_size:g} deg, {t.index:.3f}", "smaller at high contrast"]
        for c, t in zip(contrasts, tuned)
    ]  # fmt: skip
    published = "9.229033, 9.873928, 7.149928, 0.026749"
    rows.append(["SSN line, E at the centre, sizes 1, 3, 9, 27 deg",
                 ", ".join(f"{r:.6f}" for r in ssn[:, 5]), published])  # fmt: skip
    return {"surround.sizes": sizes, "surround.organics": y, "surround.contrasts": contrasts,
            "surround.ssn_sizes": np.array(fixed), "surround.ssn": ssn[:, 5]}, rows  # fmt: skip


def plaid_summation(config: Any) -> tuple[dict[str, Any], list[list[str]]]:
    """Summation index of orthogonal gratings of equal contrast, in both circuits."""
    del config
    contrasts = np.array([2.0, 5.0, 10.0, 20.0, 50.0])
    ring = ssn_orientation_ring()
    at = 45
    index = []
    for c in contrasts:
        one, other, both = (
            ring.fixed_point(ring_input(np.asarray(cs), np.asarray(angles))).r[at]
            for cs, angles in ((c, 45.0), (c, 135.0), ((c, c), (45.0, 135.0)))
        )
        index.append(float(summation_index(one, other, both)))
    # The same in the closed form of normalization: drives do not mix, the pool does.
    share = np.geomspace(0.01, 1, 41)
    alone = share**2 / (SIGMA**2 + share**2)
    together = share**2 / (SIGMA**2 + 2 * share**2)
    model = summation_index(alone, np.zeros_like(alone), together)
    wanted = {5.0: 1.3433, 10.0: 0.7803, 20.0: 0.6526, 50.0: 0.6951}
    rows = [
        [f"SSN ring, summation index at contrast {c:g}", f"{i:.4f}", f"{wanted[c]:.4f}"]
        for c, i in zip(contrasts, index) if c in wanted
    ]  # fmt: skip
    arrays = {
        "plaids.contrasts": contrasts,
        "plaids.ssn": np.array(index),
        "plaids.organics_contrasts": share,
        "plaids.organics": np.asarray(model),
    }
    return arrays, rows


def supersaturation(config: Any) -> tuple[dict[str, Any], list[list[str]]]:
    """Rates of the two-population SSN against its input, and the gain of its excitation."""
    del config
    network: SSN = ssn_two_population()
    inputs = np.linspace(0.5, 50, 100)
    rests = [network.fixed_point(np.array([h, h])) for h in inputs]
    rates = np.stack([rest.r for rest in rests])
    gains = np.array([
        network.excitatory_gain(np.array([h, h]), rest.r) for h, rest in zip(inputs, rests)
    ])  # fmt: skip
    crossing = inputs[np.argmax(gains > 0)]
    peak = int(np.argmax(rates[:, 0]))
    rows = [
        ["SSN, input from which E alone is unstable", f"{crossing:.1f}", "between 1 and 2"],
        ["SSN, input at which E is largest", f"{inputs[peak]:.1f}", "below 50: it supersaturates"],
        ["SSN, rates at input 50", f"{rates[-1, 0]:.4f}, {rates[-1, 1]:.4f}", "6.2104, 81.8664"],
    ]  # fmt: skip
    return {"ssn.inputs": inputs, "ssn.rates": rates, "ssn.gains": gains}, rows
