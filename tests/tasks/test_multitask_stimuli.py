"""What is shown and what is asked: each rule of the tasks, over many draws."""

from math import pi, tau

import jax
import numpy as np
import pytest

from neurosim.tasks.multitask import Multitask

DECISIONS = ("dm1", "dm2", "context_dm1", "context_dm2", "multi_dm")


def draw(task, size=6000):
    trials = task.sample(jax.random.key(3), size)
    names = np.array(task.tasks)[np.asarray(trials.info["task"])]
    return trials, names, {name: np.asarray(value) for name, value in trials.info.items()}


@pytest.fixture(scope="module")
def yang():
    return draw(Multitask.yang(encoding="sincos", noise_std=0))


@pytest.fixture(scope="module")
def driscoll():
    return draw(Multitask.driscoll(noise_std=0))


@pytest.fixture(params=["yang", "driscoll"])
def drawn(request):
    return request.getfixturevalue(request.param)


def strengths(info, stimulus):
    return info[f"strength{stimulus}_mod1"], info[f"strength{stimulus}_mod2"]


def apart(a, b):
    return np.abs((a - b + pi) % tau - pi)


def test_angles_are_uniform_on_the_circle(drawn):
    _, names, info = drawn
    anywhere = info["theta1"][~np.char.startswith(names, "dmc")]
    assert 0 <= anywhere.min() < 0.02
    assert tau - 0.02 < anywhere.max() < tau
    for which in (names == "memory_pro", np.char.startswith(names, "dms"), names == "delay_dm1"):
        angles = info["theta1"][which]
        # Rayleigh: 2 n R^2 is chi-squared with two degrees of freedom for each harmonic.
        for harmonic in (1, 2):
            mean = np.mean(np.exp(1j * harmonic * angles))
            assert 2 * len(angles) * np.abs(mean) ** 2 < 18.4
        assert 0.2 * tau < np.quantile(angles, 0.25) < 0.3 * tau


def test_pro_and_anti(drawn):
    _, names, info = drawn
    pro = np.isin(names, ["delay_pro", "memory_pro", "react_pro"])
    anti = np.isin(names, ["delay_anti", "memory_anti", "react_anti"])
    assert np.all(info["respond"][pro | anti])
    np.testing.assert_array_equal(info["response_angle"][pro], info["theta1"][pro])
    opposite = apart(info["response_angle"], info["theta1"])[anti]
    np.testing.assert_allclose(opposite, pi, atol=1e-5)
    lone = pro | anti
    assert np.all(info["theta2"][lone] == 0)
    # One modality or the other, and nothing of a second stimulus.
    first, second = strengths(info, 1)
    assert set(zip(first[lone], second[lone])) == {(0, 1), (1, 0)}
    assert abs(first[lone].mean() - 0.5) < 4.5 * 0.5 / lone.sum() ** 0.5
    assert not np.any([s[lone] for s in strengths(info, 2)])


def test_decisions_are_for_the_stronger_stimulus_of_what_counts(drawn):
    _, names, info = drawn
    first, second = (np.stack(strengths(info, n), axis=-1) for n in (1, 2))
    weights = {"1": (1, 0), "2": (0, 1), "m": (1, 1)}
    for name in set(names.tolist()):
        if "dm" not in name or name.startswith(("dmc", "dms")):
            continue
        which = names == name
        weight = weights["m" if name.startswith("multi") else name[-1]]
        one, two = (np.sum(s[which] * weight, axis=1) for s in (first, second))
        expected = np.where(one > two, info["theta1"][which], info["theta2"][which])
        np.testing.assert_array_equal(info["response_angle"][which], expected)
        np.testing.assert_allclose(info["strength1"][which], one, rtol=1e-5)
        np.testing.assert_allclose(info["strength2"][which], two, rtol=1e-5)
        # Neither the first nor the second wins more often, in any modality on its own.
        for modality in (0, 1):
            won = first[which, modality] > second[which, modality]
            if np.any(first[which, modality]):
                assert abs(won.mean() - 0.5) < 4.5 * 0.5 / which.sum() ** 0.5
            else:
                assert name.endswith("12"[1 - modality])
                assert "context" not in name
        distance = apart(info["theta1"], info["theta2"])[which]
        assert distance.min() > pi / 2 - 1e-5
        assert np.all(info["respond"][which])
        assert np.all(~info["match"][which])


def test_published_strengths(yang, driscoll):
    for (_, names, info), sets in (
        (yang, {"dm": [0.01, 0.02, 0.04, 0.08], "delay": [0.08, 0.16, 0.32]}),
        (driscoll, {"delay": None}),
    ):
        for row, values in sets.items():
            prefix = "" if row == "dm" else "delay_"
            for name, modality in ((f"context_{prefix}dm1", 1), (f"context_{prefix}dm2", 0)):
                which = names == name
                for m in (0, 1):
                    one, two = (strengths(info, n)[m][which] for n in (1, 2))
                    mean, coherence = (one + two) / 2, np.abs(one - two) / 2
                    assert 0.8 < mean.min() < 0.83
                    assert 1.17 < mean.max() < 1.2
                    if values is None:
                        assert 0.005 <= coherence.min() < 0.03
                        assert 0.77 < coherence.max() < 0.8
                    else:
                        assert set(np.round(coherence.astype(float), 5)) == set(values)
                # The modality to ignore says nothing about the one that counts.
                won = [strengths(info, 1)[m][which] > strengths(info, 2)[m][which] for m in (0, 1)]
                assert abs(np.mean(won[0] == won[1]) - 0.5) < 4.5 * 0.5 / which.sum() ** 0.5
                assert np.array_equal(
                    won[1 - modality],
                    info["response_angle"][which] == info["theta1"][which],
                )
            # Both count: each stimulus is a mean strength, tilted by up to 0.8 between the two.
            which = names == f"multi_{prefix}dm"
            low = 0.2 if values else 0.005
            for n in (1, 2):
                one, two = (s[which] for s in strengths(info, n))
                tilt = np.abs(one - two) / ((one + two) / 2)
                assert low - 1e-5 < tilt.min() < low + 0.05
                assert 0.75 < tilt.max() < 0.8 + 1e-5


def test_what_an_ignored_modality_shows_does_not_change_the_answer():
    """Context tasks on the same chances: swapping the cue swaps the answer's modality only."""
    task = Multitask.yang(DECISIONS, encoding="sincos", noise_std=0)
    key = jax.random.key(0)
    one, two = (task.sample_task(key, 300, name) for name in ("context_dm1", "context_dm2"))
    np.testing.assert_array_equal(one.inputs[..., :5], two.inputs[..., :5])
    differ = np.any(np.asarray(one.targets != two.targets), axis=(1, 2))
    first = np.asarray(one.info["strength1_mod1"] > one.info["strength2_mod1"])
    second = np.asarray(one.info["strength1_mod2"] > one.info["strength2_mod2"])
    np.testing.assert_array_equal(differ, first != second)
    # Alone, the same modality asks for the same.
    alone = task.sample_task(key, 300, "dm1")
    np.testing.assert_array_equal(alone.targets, one.targets)
    np.testing.assert_array_equal(alone.inputs[..., :3], one.inputs[..., :3])
    assert not np.any(alone.inputs[..., 3:5])


def test_matching(drawn):
    _, names, info = drawn
    distance = apart(info["theta1"], info["theta2"])
    for row, agree in (
        ("dms", distance < 1e-5),
        ("dmc", (info["theta1"] < pi) == (info["theta2"] < pi)),
    ):
        for name, wanted in ((f"{row}_go", True), (f"{row}_nogo", False)):
            which = names == name
            np.testing.assert_array_equal(info["match"][which], agree[which])
            np.testing.assert_array_equal(info["respond"][which], agree[which] == wanted)
            assert abs(agree[which].mean() - 0.5) < 4.5 * 0.5 / which.sum() ** 0.5
            expected = np.where(info["respond"], info["theta2"], 0)
            np.testing.assert_array_equal(info["response_angle"][which], expected[which])
            # Each stimulus has a modality of its own.
            pairs = zip(info["strength1_mod1"][which], info["strength2_mod1"][which])
            assert set(pairs) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    differing = distance[np.char.startswith(names, "dms") & ~info["match"]]
    assert differing.min() > pi / 9 - 1e-5
    np.testing.assert_array_equal(info["category1"], info["theta1"] >= pi)
    np.testing.assert_array_equal(info["category2"], info["theta2"] >= pi)


def test_angles_of_categories(yang, driscoll):
    _, names, info = yang
    which = np.char.startswith(names, "dmc")
    for n in (1, 2):
        tenths = info[f"theta{n}"][which].astype(float) / pi * 10
        assert set(np.round(tenths, 4)) == {1, 3, 5, 7, 9, 11, 13, 15, 17, 19}
    _, names, info = driscoll
    which = np.char.startswith(names, "dmc")
    assert len(np.unique(info["theta1"][which])) > 0.99 * which.sum()


def test_the_sequential_decisions_of_costacurta():
    task = Multitask(tasks=("dm1", "dm2", "memory_pro"), noise_std=0)
    assert (task.n_sensory, task.n_inputs) == (5, 8)
    _, names, info = draw(task, 4000)
    for n, name in enumerate(("dm1", "dm2")):
        which = names == name
        one, two = (strengths(info, stimulus)[n][which] for stimulus in (1, 2))
        np.testing.assert_allclose(one + two, 2, atol=1e-5)
        coherence = np.abs(one - 1)
        assert 0.1 - 1e-5 < coherence.min() < 0.11
        assert 0.79 < coherence.max() < 0.8 + 1e-5
        assert not np.any(strengths(info, 1)[1 - n][which])
        stronger = np.where(one > two, info["theta1"][which], info["theta2"][which])
        np.testing.assert_array_equal(info["response_angle"][which], stronger)
        assert abs(np.mean(one > two) - 0.5) < 4.5 * 0.5 / which.sum() ** 0.5
    # With two modalities to choose from, a lone stimulus comes in the first.
    assert np.all(info["strength1_mod1"][names == "memory_pro"] == 1)
