"""Trials of environments: small ones with neurogym's interface, written here."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.tasks.neurogym_trials import from_neurogym


class Discrete:
    """`n` actions, from `start` on."""

    shape = ()

    def __init__(self, n, start=0):
        self.n, self.start = n, start


class Box:
    """Actions that are numbers."""

    shape = (2,)


class Environment:
    """Two to five steps of fixation, three to answer; the stimulus is the answer, times a gain."""

    dt = 20

    def __init__(self, action_space=None):
        self.action_space = action_space or Discrete(4)
        self.rng = np.random.RandomState()
        self.start_ind, self.end_ind = {}, {}
        self.started = False

    @property
    def unwrapped(self):
        return self

    def seed(self, seed=None):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.started = True

    def new_trial(self):
        assert self.started
        wait, answer = self.rng.randint(2, 6), self.rng.randint(1, 4)
        gain = self.rng.uniform()
        self.start_ind |= {"fixation": 0, "decision": wait}
        self.end_ind |= {"fixation": wait, "decision": wait + 3}
        self.ob = np.zeros((wait + 3, 2), np.float32)
        self.ob[:wait, 0] = 1
        self.ob[wait:, 1] = gain * answer
        self.gt = np.zeros(wait + 3, np.int64)
        self.gt[wait:] = answer
        self.trial = {
            "gain": gain, "answer": answer, "place": np.array([wait, answer]), "rule": "match",
            "label": 7, "some": 1.0, "late": wait > 3, "lost": np.nan,
        }  # fmt: skip
        if answer == 1:
            del self.trial["some"]
        return self.trial


class Continuous(Environment):
    """The same with two numbers to answer."""

    def new_trial(self):
        trial = super().new_trial()
        self.gt = np.stack([np.cos(self.gt), np.sin(self.gt)], axis=-1)
        return trial


class Changed(Environment):
    """The same, with some attributes put in place of its own after each trial."""

    def __init__(self, change, action_space=None):
        super().__init__(action_space)
        self.change = change

    def new_trial(self):
        super().new_trial()
        vars(self).update(self.change)


class Wrapper:
    """A wrapper that warns when asked for what it has not, as those of gymnasium do."""

    def __init__(self, env):
        self.env = env

    def __getattr__(self, name):
        raise AssertionError(f"asked the wrapper for {name}")

    @property
    def unwrapped(self):
        return self.env.unwrapped

    def reset(self):
        return self.env.reset()


class Alternating(Wrapper):
    """Two environments in turn, as `ScheduleEnvs` of neurogym has them."""

    def __init__(self, *envs):
        super().__init__(envs[0])
        self.envs = envs

    def seed(self, seed=None):
        for env in self.envs:
            env.seed(seed)

    def reset(self):
        for env in self.envs:
            env.reset()
        self.turn = 0

    def new_trial(self):
        self.env = self.envs[self.turn % 2]
        self.turn += 1
        return self.env.new_trial()


def replayed(env, n, seed):
    env.seed(seed)
    env.reset()
    trials = []
    for _ in range(n):
        env.new_trial()
        trials.append((env.unwrapped.ob.copy(), env.unwrapped.gt.copy(), dict(env.unwrapped.trial)))
    return trials


def test_trials_are_the_environments_own_and_padded():
    trials = from_neurogym(Environment(), 30, seed=3)
    assert trials.inputs.shape == (30, 8, 2)
    assert trials.targets.shape == trials.mask.shape == (30, 8, 4)
    trials = jax.tree.map(np.asarray, trials)
    for i, (ob, gt, trial) in enumerate(replayed(Environment(), 30, 3)):
        n = len(ob)
        np.testing.assert_allclose(trials.inputs[i, :n], ob, rtol=1e-6)
        np.testing.assert_array_equal(trials.targets[i, :n], np.eye(4)[gt])
        np.testing.assert_array_equal(trials.info["label"][i, :n], gt)
        for array in (trials.inputs, trials.targets, trials.mask, trials.info["label"]):
            assert not np.any(array[i, n:])
        assert np.all(trials.mask[i, :n] == 1)
        info = {name: value[i] for name, value in trials.info.items()}
        assert info["end_step"] == n
        assert info["end_time"] == 20 * n
        assert (info["fixation_start_step"], info["fixation_end_step"]) == (0, n - 3)
        assert (info["decision_start_time"], info["decision_end_time"]) == (20 * (n - 3), 20 * n)
        np.testing.assert_allclose(info["gain"], trial["gain"], rtol=1e-6)
        np.testing.assert_array_equal(info["place"], trial["place"])
        assert info["late"] == trial["late"]
        assert info["trial_label"] == 7
    # What is no number, or is not in every trial, is left out.
    assert not {"rule", "some", "lost"} & set(trials.info)
    lengths = set(np.asarray(trials.info["end_step"]).tolist())
    assert lengths == {5, 6, 7, 8}


def test_a_given_grid_and_the_one_needed():
    trials = from_neurogym(Environment(), 30, seed=3, n_steps=12)
    assert trials.inputs.shape == (30, 12, 2)
    assert not np.any(trials.mask[:, 8:])
    with pytest.raises(ValueError, match="n_steps 7 is too few: the longest of these trials has 8"):
        from_neurogym(Environment(), 30, seed=3, n_steps=7)


def test_ground_truth_as_it_is():
    raw = from_neurogym(Environment(), 5, seed=1, one_hot=False)
    assert raw.targets.shape == (*raw.inputs.shape[:2], 1)
    np.testing.assert_array_equal(raw.targets[..., 0], raw.info["label"])
    numbers = from_neurogym(Continuous(Box()), 5, seed=1)
    assert numbers.targets.shape == (*raw.inputs.shape[:2], 2)
    shown = np.asarray(numbers.mask[..., 0] == 1)
    expected = np.stack([np.cos(raw.info["label"]), np.sin(raw.info["label"])], axis=-1)
    np.testing.assert_allclose(numbers.targets[shown], expected[shown], atol=1e-6)
    assert "label" not in numbers.info
    assert np.all(numbers.info["trial_label"] == 7)
    with pytest.raises(ValueError, match="one_hot needs discrete actions"):
        from_neurogym(Continuous(Box()), 5, seed=1, one_hot=True)


def test_actions_that_do_not_start_at_zero():
    trials = from_neurogym(Environment(Discrete(5, start=-1)), 5, seed=1)
    shown = np.asarray(trials.mask[..., 0] == 1)
    chosen = np.argmax(trials.targets, axis=-1) - 1
    np.testing.assert_array_equal(chosen[shown], np.asarray(trials.info["label"])[shown])
    with pytest.raises(ValueError, match=r"ground truth from 0 to 2, .* actions, 1 to 4"):
        from_neurogym(Changed({"gt": np.arange(3), "ob": np.ones(3)}, Discrete(4, 1)), 1, seed=1)


def test_environments_that_write_each_trial_over_the_last():
    class InPlace(Environment):
        def new_trial(self):
            super().new_trial()
            if not hasattr(self, "kept"):
                self.kept = np.zeros((8, 2)), np.zeros(8, int)
            for kept, new in zip(self.kept, (self.ob, self.gt)):
                kept[: len(new)] = new
            n = len(self.gt)
            self.ob, self.gt = self.kept[0][:n], self.kept[1][:n]

    one, other = (from_neurogym(env, 6, seed=4) for env in (InPlace(), Environment()))
    np.testing.assert_array_equal(one.inputs, other.inputs)
    np.testing.assert_array_equal(one.targets, other.targets)


def test_wrapped_environments():
    plain = from_neurogym(Environment(), 6, seed=2)
    wrapped = from_neurogym(Wrapper(Wrapper(Environment())), 6, seed=2)
    np.testing.assert_array_equal(plain.inputs, wrapped.inputs)
    # Which environment stands behind a wrapper can change from trial to trial.
    env = Wrapper(Alternating(Environment(), Environment()))
    both = from_neurogym(env, 6, seed=2)
    for i in range(3):
        for j in (2 * i, 2 * i + 1):
            n = int(plain.info["end_step"][i])
            np.testing.assert_array_equal(both.inputs[j, :n], plain.inputs[i, :n])


def test_the_seed_decides():
    env = Environment()
    one, other = from_neurogym(env, 5, seed=1), from_neurogym(env, 5, seed=2)
    again = from_neurogym(env, 5, seed=np.int64(1))
    np.testing.assert_array_equal(one.inputs, again.inputs)
    assert not np.array_equal(one.info["gain"], other.info["gain"])


@pytest.mark.usefixtures("double_precision")
def test_double_precision():
    trials = from_neurogym(Environment(), 3, seed=0)
    assert trials.inputs.dtype == trials.targets.dtype == trials.mask.dtype == jnp.float64


def test_periods_that_not_every_trial_has():
    class Sometimes(Environment):
        def new_trial(self):
            self.start_ind, self.end_ind = {}, {}
            trial = super().new_trial()
            if trial["late"]:
                self.start_ind["cue"], self.end_ind["cue"] = 1, 2
            return trial

    trials = from_neurogym(Sometimes(), 20, seed=0)
    late = np.asarray(trials.info["late"])
    np.testing.assert_array_equal(trials.info["cue_start_step"], np.where(late, 1, -1))
    np.testing.assert_array_equal(trials.info["cue_end_time"], np.where(late, 40, -1))


def test_a_name_needs_neurogym(monkeypatch):
    monkeypatch.setitem(sys.modules, "neurogym", None)
    with pytest.raises(ValueError, match=r"needs neurogym, .*neurosim-toolkit\[neurogym\]"):
        from_neurogym("ReadySetGo-v0", 2, seed=0)


def test_a_name_is_made_by_neurogym(monkeypatch):
    class Module:
        @staticmethod
        def make(name):
            assert name == "Environment-v0"
            return Environment()

    monkeypatch.setitem(sys.modules, "neurogym", Module)
    named = from_neurogym("Environment-v0", 2, seed=0)
    np.testing.assert_array_equal(named.inputs, from_neurogym(Environment(), 2, seed=0).inputs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gt": None}, r"no ground truth in its trials: Changed\.gt"),
        ({"ob": None}, r"no observations in its trials: Changed\.ob"),
        ({"ob": np.full((5, 2), np.nan)}, "env has observations, not all finite"),
        ({"ob": np.ones((0, 2))}, "no observations"),
        ({"gt": np.zeros(4, int), "ob": np.ones((5, 2))}, "5 steps of observations and 4 of"),
        ({"gt": np.full(5, 4), "ob": np.ones((5, 2))}, "from 4 to 4, .* 0 to 3; one_hot=False"),
        ({"gt": np.full(5, -1), "ob": np.ones((5, 2))}, "ground truth from -1 to -1"),
        ({"gt": np.full(5, 0.5), "ob": np.ones((5, 2))}, "one_hot needs discrete actions, and"),
    ],
)
def test_environments_that_cannot_be_read(change, message):
    with pytest.raises(ValueError, match=message):
        from_neurogym(Changed(change), 3, seed=0)


def test_bad_requests_are_refused():
    class Channels(Environment):
        def new_trial(self):
            super().new_trial()
            self.ob = np.ones((len(self.gt), len(self.gt)))

    with pytest.raises(ValueError, match="different numbers of channels"):
        from_neurogym(Channels(), 10, seed=0)
    with pytest.raises(ValueError, match="n_trials must be at least 1, got 0"):
        from_neurogym(Environment(), 0, seed=0)
    with pytest.raises(ValueError, match=r"env has no new_trial\(\)"):
        from_neurogym(Box(), 1, seed=0)
