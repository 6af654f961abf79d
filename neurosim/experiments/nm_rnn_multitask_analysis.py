"""One trained network taken apart: where its states lie in each task, and what its gains do."""

import dataclasses
from typing import Any

import jax
import numpy as np

from ..analysis import PCA, align_to_events, ring_score, shared_subspace
from ..models import NMRNN
from ..simulate import simulate
from ..tasks import Multitask, Trials

#: When states are taken: during the stimulus, just before the go cue, at the end of the trial.
PERIODS = ("stimulus", "delay", "response")

#: Steps kept before and after an event in the average gains.
BEFORE, AFTER = 15, 40


def take_apart(
    model: Any, sampler: Multitask, names: tuple[str, ...], *, seed: int, n_trials: int = 240
) -> dict[str, np.ndarray]:
    """States and gains of one network in trials without noise.

    **Arguments:**

    - `model`: a network for the channels of `sampler`.
    - `sampler`: of the tasks `names`.
    - `n_trials`: of each task; their angles go round the circle evenly.

    **Returns:** arrays by name. Of states: `latents` `(task, period, trial, 6)` in the principal
    components of all states shown, `explained_variance_ratio`, `angles` `(trial,)` of the stimulus
    and `response_angles` `(task, trial)`, `ring_scores` `(task, period)`, `shared_subspace` `(task,
    task)`, the mean squared cosine between the planes of two tasks before the go cue, and
    `shared_p` against planes drawn from the variance of both. Of gains, where there are any:
    `gains.stim1_on` and `gains.go` `(task, offset, gain)`, means over trials about the event.
    """
    silent = dataclasses.replace(sampler, noise_std=0.0)
    angles = 2 * np.pi * np.arange(n_trials) / n_trials
    states, responses, gains = [], [], {"stim1_on": [], "go": []}
    for index, name in enumerate(names):
        key = jax.random.key(seed + 5000 + index)
        trials = silent.sample_task(key, n_trials, name, angles=angles)
        run = simulate(model, trials.inputs, dt=sampler.dt, save="states")
        x = _activity(run.states)
        states.append(x[np.arange(n_trials), _steps_of(trials)])
        responses.append(np.asarray(trials.info["response_angle"]))
        if isinstance(model, NMRNN):
            s = np.asarray(jax.vmap(jax.vmap(model.gains))(run.states.z))
            for event, courses in gains.items():
                steps = np.asarray(trials.info[f"{event}_step"])
                aligned = align_to_events(s, steps, before=BEFORE, after=AFTER)
                # The latest go cue leaves less than AFTER steps of the trial in every trial.
                courses.append(_mean_over_trials(np.asarray(aligned.values)))
    shown = np.stack(states)  # (task, period, trial, unit)
    flat = shown.reshape(-1, shown.shape[-1])
    pca = PCA(min(6, *flat.shape)).fit(flat)
    latents = np.asarray(pca.transform(flat)).reshape(*shown.shape[:-1], -1)
    found: dict[str, np.ndarray] = {
        "latents": latents,
        "explained_variance_ratio": np.asarray(pca.explained_variance_ratio_),
        "angles": angles,
        "response_angles": np.stack(responses),
        "ring_scores": np.array(
            [[ring_score(period, angles).score for period in task] for task in shown]
        ),
    }
    similarity, p_value = np.ones((len(names),) * 2), np.full((len(names),) * 2, np.nan)
    for i, j in zip(*np.triu_indices(len(names), 1)):
        pair = shared_subspace(shown[i, 1], shown[j, 1], 2, seed=seed)
        similarity[i, j] = similarity[j, i] = pair.similarity
        p_value[i, j] = p_value[j, i] = pair.p_value
    found |= {"shared_subspace": similarity, "shared_p": p_value}
    if gains["go"]:
        found |= {f"gains.{event}": np.stack(courses) for event, courses in gains.items()}
    return found


def _activity(states: Any) -> np.ndarray:
    """`(trial, time, unit)`: x of an NM-RNN, h of an LSTM, the state itself of the others."""
    for name in ("x", "h"):
        states = getattr(states, name, states)
    return np.asarray(states)


def _steps_of(trials: Trials) -> np.ndarray:
    """The step of each of `PERIODS`, `(period, trial)`."""
    info = {name: np.asarray(value) for name, value in trials.info.items()}
    stimulus_end = np.minimum(info["stim1_off_step"], info["go_step"])
    end = np.full_like(stimulus_end, trials.inputs.shape[1])
    return np.stack([stimulus_end, info["go_step"], end]) - 1


def _mean_over_trials(values: np.ndarray) -> np.ndarray:
    """Mean over the trials observed, NaN where there is none; NumPy's own function warns there."""
    return np.ma.masked_invalid(values).mean(axis=0).filled(np.nan)
