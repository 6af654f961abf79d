"""The cognitive tasks by name: what each of them shows, and what it asks for."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple


class Rule(NamedTuple):
    """One task, apart from its times.

    - `phases`: the row of the timing table.
    - `answer`: where the response goes. The `"stimulus"`, its `"opposite"`, the `"stronger"` of
        two, or the second stimulus where the two `"match"` or do not (`"non_match"`).
    - `shown`: the modalities that carry both stimuli of a decision; `None` where each stimulus has
        one modality, which does not matter.
    - `compared`: the weight of each modality in a decision.
    - `category`: stimuli match where their categories do, not where their angles do.
    """

    phases: str
    answer: Literal["stimulus", "opposite", "stronger", "match", "non_match"]
    shown: tuple[bool, bool] | None = None
    compared: tuple[int, int] | None = None
    category: bool = False


def _decision(phases: str, shown: tuple[bool, bool], compared: tuple[int, int]) -> Rule:
    return Rule(phases, "stronger", shown, compared)


_FIRST, _SECOND, _BOTH = (True, False), (False, True), (True, True)

#: Every task, in the order of Yang et al.
RULES: dict[str, Rule] = {
    "delay_pro": Rule("delay", "stimulus"),
    "react_pro": Rule("react", "stimulus"),
    "memory_pro": Rule("memory", "stimulus"),
    "delay_anti": Rule("delay", "opposite"),
    "react_anti": Rule("react", "opposite"),
    "memory_anti": Rule("memory", "opposite"),
    "dm1": _decision("dm", _FIRST, (1, 0)),
    "dm2": _decision("dm", _SECOND, (0, 1)),
    "context_dm1": _decision("dm", _BOTH, (1, 0)),
    "context_dm2": _decision("dm", _BOTH, (0, 1)),
    "multi_dm": _decision("dm", _BOTH, (1, 1)),
    "delay_dm1": _decision("delay_dm", _FIRST, (1, 0)),
    "delay_dm2": _decision("delay_dm", _SECOND, (0, 1)),
    "context_delay_dm1": _decision("delay_dm", _BOTH, (1, 0)),
    "context_delay_dm2": _decision("delay_dm", _BOTH, (0, 1)),
    "multi_delay_dm": _decision("delay_dm", _BOTH, (1, 1)),
    "dms_go": Rule("dms", "match"),
    "dms_nogo": Rule("dms", "non_match"),
    "dmc_go": Rule("dmc", "match", category=True),
    "dmc_nogo": Rule("dmc", "non_match", category=True),
}

#: Published names, as they are written: by the code that Yang et al. and Driscoll et al. share, by
#: Driscoll et al. in print, and by Yang et al. in print. Case and spaces matter: `delayanti`, in
#: the code, is the anti task from memory, and `DelayAnti`, in print, the one that needs none.
ALIASES: dict[str, str] = {
    "fdgo": "delay_pro",
    "reactgo": "react_pro",
    "delaygo": "memory_pro",
    "fdanti": "delay_anti",
    "reactanti": "react_anti",
    "delayanti": "memory_anti",
    "contextdm1": "context_dm1",
    "contextdm2": "context_dm2",
    "multidm": "multi_dm",
    "delaydm1": "delay_dm1",
    "delaydm2": "delay_dm2",
    "contextdelaydm1": "context_delay_dm1",
    "contextdelaydm2": "context_delay_dm2",
    "multidelaydm": "multi_delay_dm",
    "dmsgo": "dms_go",
    "dmsnogo": "dms_nogo",
    "dmcgo": "dmc_go",
    "dmcnogo": "dmc_nogo",
    "DelayPro": "delay_pro",
    "DelayAnti": "delay_anti",
    "MemoryPro": "memory_pro",
    "MemoryAnti": "memory_anti",
    "ReactPro": "react_pro",
    "ReactAnti": "react_anti",
    "IntegrationModality1": "delay_dm1",
    "IntegrationModality2": "delay_dm2",
    "ContextIntModality1": "context_delay_dm1",
    "ContextIntModality2": "context_delay_dm2",
    "IntegrationMultimodal": "multi_delay_dm",
    "ReactMatch2Sample": "dms_go",
    "ReactNonMatch2Sample": "dms_nogo",
    "ReactCategoryPro": "dmc_go",
    "ReactCategoryAnti": "dmc_nogo",
    "Go": "delay_pro",
    "RT Go": "react_pro",
    "Dly Go": "memory_pro",
    "Anti": "delay_anti",
    "RT Anti": "react_anti",
    "Dly Anti": "memory_anti",
    "DM 1": "dm1",
    "DM 2": "dm2",
    "Ctx DM 1": "context_dm1",
    "Ctx DM 2": "context_dm2",
    "MultSen DM": "multi_dm",
    "Dly DM 1": "delay_dm1",
    "Dly DM 2": "delay_dm2",
    "Ctx Dly DM 1": "context_delay_dm1",
    "Ctx Dly DM 2": "context_delay_dm2",
    "MultSen Dly DM": "multi_delay_dm",
    "DMS": "dms_go",
    "DNMS": "dms_nogo",
    "DMC": "dmc_go",
    "DNMC": "dmc_nogo",
}


def task_name(name: Any) -> str:
    """The name this package uses for a task.

    **Arguments:**

    - `name`: one of `RULES`, or a published name of `ALIASES`.

    **Returns:** a key of `RULES`.

    **Raises:** `ValueError` for a name that is neither, with the known ones.
    """
    if isinstance(name, str):
        canonical = ALIASES.get(name, name)
        if canonical in RULES:
            return canonical
    raise ValueError(f"unknown task {name!r}: the known ones are {', '.join(RULES)}.")


def task_names(values: str | Iterable[Any], field: str) -> tuple[str, ...]:
    """The names of several tasks; a single one counts as a row.

    **Raises:** `ValueError` for no names, unknown ones, or one task twice, by whichever names.
    """
    given = (values,) if isinstance(values, str) else tuple(values)
    if not given:
        raise ValueError(f"{field} must name at least one task, got none.")
    names = tuple(task_name(name) for name in given)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{field} must name each task once, got {', '.join(twice)} again.")
    return names
