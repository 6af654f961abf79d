"""The published numbers of the cognitive tasks: durations, strengths and angles."""

from math import pi
from typing import NamedTuple


class Draw(NamedTuple):
    """How a number is drawn: one of `values`, or, with `high`, uniform from the only one to it."""

    values: tuple[float, ...]
    high: float | None = None


class Phases(NamedTuple):
    """The durations that make up a trial, in their order.

    - `before`: until the first stimulus.
    - `stimulus`, `gap`, `second`: of the first stimulus, between the two, and of the second.
    - `wait`: from there to the go cue.
    - `response`: from the go cue to the end.
    - `two`: there is a second stimulus; `together`: it is shown with the first.
    - `stays_on`: the last stimulus is shown to the end of the trial.
    - `fixation_stays`: the fixation input too; the last stimulus is then the go cue.
    """

    before: Draw
    stimulus: Draw
    gap: Draw
    second: Draw
    wait: Draw
    response: Draw
    two: bool = False
    together: bool = False
    stays_on: bool = False
    fixation_stays: bool = False


class Tables(NamedTuple):
    """What one paper's code says.

    - `phases`: by row of the timing table; milliseconds, or parts of a trial where `rescaled`.
    - `rescaled`: durations are real numbers, stretched so that every trial has the same length.
    - `mean`, `coherence`: strengths of two stimuli are mean ± coherence, by row.
    - `imbalance`: where both modalities count, the difference between them over their mean.
    - `categories`: the angles of stimuli that have a category.
    - `either_modality`: a lone stimulus comes in either modality, not in the first.
    """

    phases: dict[str, Phases]
    rescaled: bool
    mean: Draw
    coherence: dict[str, Draw]
    imbalance: Draw
    categories: Draw
    either_modality: bool


def uniform(low: float | int, high: float | int) -> Draw:
    """Uniform from `low` to `high`."""
    return Draw((float(low),), float(high))


def one_of(*values: float | int) -> Draw:
    """One of the values, each as likely."""
    return Draw(tuple(float(value) for value in values))


#: A phase that a task does not have.
ABSENT = one_of(0.0)
_FULL_CIRCLE = uniform(0.0, 2 * pi)

#: The angle from the first stimulus to the second, where the stronger is wanted, and where they do
#: not match: the same in all three.
APART = (pi / 2, 3 * pi / 2)
NOT_MATCHING = (pi / 9, 17 * pi / 9)

COSTACURTA = Tables(
    phases={
        "delay": Phases(
            uniform(0.3, 0.7), uniform(0.2, 1.5), ABSENT, ABSENT, ABSENT, uniform(0.3, 0.7),
            stays_on=True,
        ),
        "memory": Phases(
            uniform(0.3, 0.7), uniform(0.2, 1.6), ABSENT, ABSENT, uniform(0.2, 1.6),
            uniform(0.3, 0.7),
        ),
        "dm": Phases(
            uniform(0.3, 0.7), uniform(0.2, 1.6), ABSENT, uniform(0.2, 1.6), ABSENT,
            uniform(0.3, 0.7), two=True,
        ),
    },
    rescaled=True,
    mean=one_of(1.0),
    coherence={"dm": uniform(0.1, 0.8)},
    imbalance=ABSENT,
    categories=_FULL_CIRCLE,
    either_modality=False,
)  # fmt: skip

YANG = Tables(
    phases={
        "delay": Phases(
            uniform(300, 700), uniform(500, 1500), ABSENT, ABSENT, ABSENT, one_of(500),
            stays_on=True,
        ),
        "memory": Phases(
            one_of(300, 500, 700), one_of(200, 400, 600), ABSENT, ABSENT,
            one_of(200, 400, 800, 1600), one_of(500),
        ),
        "react": Phases(
            uniform(500, 2500), ABSENT, ABSENT, ABSENT, ABSENT, one_of(500),
            stays_on=True, fixation_stays=True,
        ),
        "dm": Phases(
            uniform(100, 400), one_of(400, 800, 1600), ABSENT, ABSENT, ABSENT, one_of(500),
            two=True, together=True,
        ),
        "delay_dm": Phases(
            one_of(200, 400, 600), one_of(200, 400, 600), one_of(200, 400, 800, 1600),
            one_of(200, 400, 600), uniform(100, 300), one_of(500), two=True,
        ),
        "dms": Phases(
            one_of(200, 400, 600), one_of(200, 400, 600), one_of(200, 400, 800, 1600),
            ABSENT, ABSENT, one_of(500), two=True, stays_on=True, fixation_stays=True,
        ),
        "dmc": Phases(
            one_of(200, 400, 600), one_of(200, 400, 600), one_of(200, 400, 800, 1600),
            ABSENT, ABSENT, one_of(200, 400, 600), two=True, stays_on=True, fixation_stays=True,
        ),
    },
    rescaled=False,
    mean=uniform(0.8, 1.2),
    coherence={"dm": one_of(0.01, 0.02, 0.04, 0.08), "delay_dm": one_of(0.08, 0.16, 0.32)},
    imbalance=uniform(0.2, 0.8),
    categories=one_of(*(odd * pi / 10 for odd in range(1, 20, 2))),
    either_modality=True,
)  # fmt: skip

_MATCHING = Phases(
    uniform(200, 600), uniform(200, 1600), uniform(200, 1600), ABSENT, ABSENT, uniform(300, 700),
    two=True, stays_on=True, fixation_stays=True,
)  # fmt: skip

DRISCOLL = Tables(
    phases={
        "delay": Phases(
            uniform(300, 700), uniform(200, 1500), ABSENT, ABSENT, ABSENT, uniform(300, 700),
            stays_on=True,
        ),
        "memory": Phases(
            uniform(300, 700), uniform(200, 1600), ABSENT, ABSENT, uniform(200, 1600),
            uniform(300, 700),
        ),
        "react": Phases(
            uniform(500, 2500), ABSENT, ABSENT, ABSENT, ABSENT, uniform(300, 1700),
            stays_on=True, fixation_stays=True,
        ),
        "delay_dm": Phases(
            uniform(200, 600), uniform(200, 1600), uniform(200, 1600), uniform(200, 1600),
            uniform(100, 300), uniform(300, 700), two=True,
        ),
        "dms": _MATCHING,
        "dmc": _MATCHING,
    },
    rescaled=False,
    mean=uniform(0.8, 1.2),
    coherence={"delay_dm": uniform(0.005, 0.8)},
    imbalance=uniform(0.005, 0.8),
    categories=_FULL_CIRCLE,
    either_modality=True,
)  # fmt: skip

TABLES: dict[str, Tables] = {"costacurta": COSTACURTA, "yang": YANG, "driscoll": DRISCOLL}
