"""Cognitive tasks of one family, told apart by a context: go, decide, remember, match."""

from collections.abc import Sequence
from dataclasses import fields
from math import sqrt
from typing import Any, Literal

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, PRNGKeyArray

from neurosim.kernels import steps_in

from .constants import constant, integer, numbers, optional
from .multitask_checks import (
    check_fits,
    check_mask,
    check_names,
    check_probabilities,
    check_values,
)
from .multitask_rules import RULES, Rule, task_name, task_names
from .multitask_stimuli import CHANCES, draw_stimuli
from .multitask_tables import TABLES, Tables
from .multitask_timing import PHASES, Timing, build_timing, draw_events, longest_trial
from .multitask_trials import Channels, MaskWeights, describe, render_trials
from .task import Task, Trials
from .trial_keys import check_batch_size, trial_keys

#: What Yang et al. and Driscoll et al. have in common.
_IN_STEPS_OF_20_MS: dict[str, Any] = {
    "dt": 20.0,
    "noise_tau": 100.0,
    "mask_skip": 100.0,
    "mask_grace": 100.0,
    "mask_response": 5.0,
    "mask_fixation": 2.0,
}


class Multitask(Task):
    r"""Fixate, watch, and point at the right angle once told to.

    Input channels: fixation; the stimulus, in each modality; and a one-hot context that says
    throughout the trial which task it is. Outputs: fixation, then the angle of the response.

    - `delay_pro`, `delay_anti`: a stimulus that stays on; point at it, or opposite to it, once the
        fixation input goes off. `memory_pro`, `memory_anti`: the stimulus goes off before that.
        `react_pro`, `react_anti`: its onset is the go cue, and the fixation input never goes off.
    - `dm1`, `dm2`: two stimuli in the first or the second modality; point at the stronger.
        `context_dm1`, `context_dm2`: both modalities show them, and one of the two counts.
        `multi_dm`: both, and their sum counts. With `delay_`, the stimuli come one after the
        other, with a delay between.
    - `dms_go`: two stimuli one after the other; point at the second, when it comes, if it is at
        the angle of the first. `dms_nogo`: if it is not. `dmc_go`, `dmc_nogo`: likewise for
        the half of the circle, below pi or not. Otherwise go on fixating.

    `timing` says whose numbers are used. `"costacurta"` has the first two pairs, and `dm1`, `dm2`
    with one stimulus right after the other; every trial is stretched to the same length.
    `"yang"` has all, `"driscoll"` those that are not simultaneous decisions; there, each trial has
    an end of its own, after which it is padded with zeros, in the mask too. Durations from a
    range are cut down to whole steps. Times are in milliseconds.

    Published code draws times and modalities once for a batch, and a batch is of one task. That
    each trial has its own is ours; so is where a lone stimulus comes if there are two modalities
    under `"costacurta"`: in the first.

    - `tasks`: those to draw from, by the names above or by published ones. The latter differ:
        `delaygo` in the code of Yang et al. is `memory_pro`, and `fdgo` is `delay_pro`; their
        `delayanti` is `memory_anti`, but the `DelayAnti` of Driscoll et al. is `delay_anti`.
    - `contexts`: the tasks behind the context channels, in order; those of `tasks` and maybe
        more, which leaves channels for tasks learned later. `None` for `tasks`.
    - `probabilities`: how often each of `tasks` comes, up to a common factor; `None` for equally.
    - `timing`: whose durations, strengths and angles.
    - `encoding`: of angles, on input and output. `"sincos"` has two channels, sine and cosine;
        a `"ring"` `n_ring`, each with a preferred angle and a bump around it, of height 0.8.
    - `duration`: of the time grid; `None` for 100 steps under `"costacurta"`, else for the
        longest trial there can be.
    - `noise_std`: standard deviation of Gaussian noise on every input channel, contexts included.
        It is that of each step if `noise_tau` is `None`. Otherwise the noise of a step has
        $\sigma \sqrt{2 \tau / dt}$, which is how Yang et al. scale it.
    - `fixation_target`: the fixation output that is wanted until a response is due.
    - `mask_skip`, `mask_grace`: what does not count in the loss, from the start of a trial and
        from the go cue. `mask_response`: the weight of what follows that; it is 1 before the
        go cue. `mask_fixation`: the factor of the fixation output.
    - `rounding`: `"refuse"` times that are not whole steps, or take the `"nearest"`.

    Entries of `info`, one a trial:

    - `task`, `context`: indices into `tasks` and `contexts`.
    - for `stim1_on`, `stim1_off`, `stim2_on`, `stim2_off`, `go` and `end`: `..._step`, the first
        step at or after it, and `..._time`, when it is. An event that never comes, as the end of a
        stimulus that stays on, has the number of steps, and the duration. Under
        `"costacurta"` times fall between steps.
    - `theta1`, `theta2`: the angles of the stimuli in [0, 2 pi); 0 for a second that is not there.
    - `respond`, `response_angle`: whether a response is due, and at which angle, 0 if none is.
    - `strength1_mod1`, `strength1_mod2`, `strength2_mod1`, `strength2_mod2`: of each stimulus in
        each modality, 0 where it is not shown; `strength1`, `strength2`: their sums over the
        modalities that count, the stronger of which is the answer in a decision.
    - `match`: whether the two stimuli agree, in the four tasks that ask; `category1`, `category2`:
        the half of the circle they are in, 0 below pi and 1 above.

    **Reference:** Costacurta, Bhandarkar, Zoltowski & Linderman (2024), section 5; Yang, Joglekar,
    Song, Newsome & Wang (2019), Nature Neuroscience 22; Driscoll, Shenoy & Sussillo (2024), Nature
    Neuroscience 27; and the published code of each.
    """

    tasks: tuple[str, ...] = constant(
        ("delay_pro", "delay_anti", "memory_pro"), lambda names: task_names(names, "tasks")
    )
    contexts: tuple[str, ...] = constant(
        None, optional(lambda names: task_names(names, "contexts"))
    )
    probabilities: tuple[float, ...] | None = constant(None, optional(numbers("probabilities")))
    timing: Literal["costacurta", "yang", "driscoll"] = constant("costacurta")
    encoding: Literal["sincos", "ring"] = constant("sincos")
    n_ring: int = constant(32, integer("n_ring"))
    dt: float = constant(10.0, float)
    duration: float | None = constant(None, optional(float))
    noise_std: float = constant(0.01, float)
    noise_tau: float | None = constant(None, optional(float))
    fixation_target: float = constant(0.8, float)
    mask_skip: float = constant(0.0, float)
    mask_grace: float = constant(0.0, float)
    mask_response: float = constant(1.0, float)
    mask_fixation: float = constant(1.0, float)
    rounding: Literal["refuse", "nearest"] = constant("refuse")

    def __post_init__(self):
        if self.contexts is None:
            self.contexts = self.tasks

    @classmethod
    def costacurta(
        cls,
        tasks: str | Sequence[str] = ("delay_pro", "delay_anti", "memory_pro"),
        **options: Any,
    ) -> "Multitask":
        """The tasks of Costacurta et al.: 100 steps of 10 ms, one modality, and every step counts.

        Their networks learn the first three and then `memory_anti`, whose context channel can be
        left free with `contexts`.

        **Arguments:** the tasks, and any field of the class, in place of the paper's value.
        """
        given: dict[str, Any] = {"tasks": tasks}
        return cls(**(given | options))

    @classmethod
    def yang(cls, tasks: str | Sequence[str] = tuple(RULES), **options: Any) -> "Multitask":
        """All twenty tasks of Yang et al., on rings: 85 inputs, 33 outputs, steps of 20 ms.

        The fixation output is at 0.8, as in their code.

        **Arguments:** the tasks, and any field of the class, in place of the paper's value.
        """
        published = _IN_STEPS_OF_20_MS | {"tasks": tasks, "timing": "yang", "encoding": "ring"}
        return cls(**(published | options))

    @classmethod
    def driscoll(
        cls,
        tasks: str | Sequence[str] = tuple(
            name for name, rule in RULES.items() if rule.phases in TABLES["driscoll"].phases
        ),
        **options: Any,
    ) -> "Multitask":
        """All fifteen tasks of Driscoll et al.: 20 inputs, 3 outputs, steps of 20 ms.

        **Arguments:** the tasks, and any field of the class, in place of the paper's value.
        """
        published = _IN_STEPS_OF_20_MS | {"tasks": tasks, "timing": "driscoll"}
        return cls(**(published | options))

    def __check_init__(self):
        check_values({field.name: getattr(self, field.name) for field in fields(self)})
        check_names(self.tasks, self.contexts, self.timing)
        if self.probabilities is not None:
            check_probabilities(self.probabilities, len(self.tasks))
        timing = self._timing
        check_fits(timing, self.n_steps, self.dt)
        check_mask(self._mask_weights, self.tasks, timing, self.n_steps, self.dt)

    @property
    def n_modalities(self) -> int:
        """One under `"costacurta"`, unless a decision is among the contexts; else two."""
        if self._tables.either_modality:
            return 2
        return 2 if any(RULES[name].shown for name in self.contexts) else 1

    @property
    def n_contexts(self) -> int:
        """Channels of the one-hot context, which are the last ones."""
        return len(self.contexts)

    @property
    def n_sensory(self) -> int:
        """Channels before the context: fixation, and the stimulus in each modality."""
        return 1 + self.n_modalities * self._channels_of_an_angle

    @property
    def n_inputs(self) -> int:
        """Fixation, stimuli, context."""
        return self.n_sensory + self.n_contexts

    @property
    def n_outputs(self) -> int:
        """Fixation and the angle of the response."""
        return 1 + self._channels_of_an_angle

    @property
    def n_steps(self) -> int:
        """Number of time steps in every trial, padding included."""
        if self.duration is not None:
            return self._steps("duration")
        return 100 if self._tables.rescaled else longest_trial(self._timing)

    @property
    def input_noise(self) -> float:
        """Standard deviation of the noise on an input channel in one step."""
        if self.noise_tau is None:
            return self.noise_std
        return self.noise_std * sqrt(2 * self.noise_tau / self.dt)

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw trials: task, times, angles and strengths, each trial on its own.

        **Arguments:**

        - `key`: of the batch; trial i is the same in a larger batch.
        - `batch_size`: number of trials, static under `jit`.

        **Returns:** the trials.

        **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
        """
        return self._sample(key, check_batch_size(batch_size), None, None)

    def sample_task(
        self,
        key: PRNGKeyArray,
        batch_size: int | np.integer,
        task: str | Sequence[str],
        *,
        angles: ArrayLike | None = None,
    ) -> Trials:
        """Draw trials of given tasks, at given angles.

        **Arguments:**

        - `key`, `batch_size`: as for `sample`. With the same key, trials differ from those of
            `sample` in what is given and in nothing else.
        - `task`: one of `tasks`, or one for each trial.
        - `angles`: of the first stimulus, in radians; one, or one for each trial. `None` draws
            them.

        **Returns:** the trials.

        **Raises:** `ValueError` for a task that is not among `tasks`, and for angles that are not
        finite or not one for each trial.
        """
        size = check_batch_size(batch_size)
        given = [task] if isinstance(task, str) else list(task)
        if len(given) != size and not isinstance(task, str):
            raise ValueError(f"task must be one name or {size}, one a trial, got {len(given)}.")
        names = [task_name(name) for name in given]
        absent = sorted(set(names) - set(self.tasks))
        if absent:
            raise ValueError(
                f"task must be among tasks ({', '.join(self.tasks)}), got {', '.join(absent)}."
            )
        labels = np.broadcast_to([self.tasks.index(name) for name in names], (size,))
        if angles is None:
            return self._sample(key, size, jnp.asarray(labels), None)
        if np.shape(angles) not in ((), (size,)):
            raise ValueError(
                f"angles must be one number or {size}, one a trial, got shape {np.shape(angles)}."
            )
        if np.ma.is_masked(angles):
            raise ValueError("angles is a masked array: fill its masked values, or leave them out.")
        if not isinstance(angles, jax.core.Tracer) and not np.all(np.isfinite(angles)):
            raise ValueError("angles must be finite.")
        theta1 = jnp.broadcast_to(jnp.asarray(angles, jnp.result_type(float)), (size,))
        return self._sample(key, size, jnp.asarray(labels), jnp.mod(theta1, 2 * np.pi))

    @eqx.filter_jit
    def _sample(
        self, key: PRNGKeyArray, batch_size: int, labels: Array | None, theta1: Array | None
    ) -> Trials:
        n_steps, timing = self.n_steps, self._timing
        # With a key of its own, noise leaves the trials as they are without it.
        keys = jax.vmap(jax.random.split)(trial_keys(key, batch_size))
        n_chances = 1 + len(PHASES) + len(CHANCES)
        chances = jax.vmap(lambda key: jax.random.uniform(key, (n_chances,)))(keys[:, 0])
        task = labels
        if task is None:
            weights = np.ones(len(self.tasks)) if self.probabilities is None else self.probabilities
            shares = np.cumsum(weights) / np.sum(weights)
            task = jnp.sum(chances[:, :1] >= jnp.asarray(shares[:-1], chances.dtype), axis=1)
        events = draw_events(timing, task, chances[:, 1 : 1 + len(PHASES)], n_steps=n_steps)
        by_name = dict(zip(CHANCES, chances[:, 1 + len(PHASES) :].T))
        stimuli = draw_stimuli(self._rules, self._tables, task, by_name, theta1)
        context = jnp.asarray([self.contexts.index(name) for name in self.tasks])[task]

        noise = None
        if self.input_noise:
            shape = (n_steps, self.n_inputs)
            noise = jax.vmap(lambda key: jax.random.normal(key, shape))(keys[:, 1])
            noise = self.input_noise * noise
        channels = Channels(
            self.encoding, self.n_ring, self.n_modalities, self.n_contexts, self.fixation_target
        )
        trials = render_trials(
            events, stimuli, context, jnp.asarray(timing.fixation_stays)[task],
            n_steps=n_steps, channels=channels, weights=self._mask_weights, noise=noise,
        )  # fmt: skip
        info = {"task": task, "context": context} | describe(events, stimuli, dt=self.dt)
        return Trials(trials.inputs, trials.targets, trials.mask, info)

    def _steps(self, name: str) -> int:
        return steps_in(getattr(self, name), self.dt, rounding=self.rounding, name=name)

    @property
    def _tables(self) -> Tables:
        return TABLES[self.timing]

    @property
    def _rules(self) -> list[Rule]:
        return [RULES[name] for name in self.tasks]

    @property
    def _timing(self) -> Timing:
        tables = self._tables
        phases = [tables.phases[rule.phases] for rule in self._rules]
        return build_timing(
            self.tasks, phases, rescaled=tables.rescaled, dt=self.dt, rounding=self.rounding
        )

    @property
    def _channels_of_an_angle(self) -> int:
        return 2 if self.encoding == "sincos" else self.n_ring

    @property
    def _mask_weights(self) -> MaskWeights:
        return MaskWeights(
            self._steps("mask_skip"), self._steps("mask_grace"),
            self.mask_response, self.mask_fixation,
        )  # fmt: skip
