"""The digit experiment: what it trains, measures and refuses."""

import dataclasses

import jax
import numpy as np
import pytest

from neurosim.experiments import load_result, run_experiment
from neurosim.experiments.organics_digits import EXPERIMENT
from neurosim.experiments.organics_digits_networks import SEQUENCE, STATIC, Training, load_digits
from neurosim.training import parameter_count

TINY = dataclasses.replace(
    EXPERIMENT.presets["quick"],
    parts=(64, 20, 30),
    static_units=10,
    sequence_units=8,
    spectra=5,
    train_static=Training(epochs=2, batch_size=32),
    train_sequence=Training(epochs=2, batch_size=32),
)


def test_networks_are_trained_measured_and_followed_until_they_diverge(tmp_path):
    config = dataclasses.replace(
        TINY,
        static=("organics",),
        scales=(2.0,),
        sequence=("learned",),
        train_sequence=Training(epochs=2, batch_size=32, learning_rate=1e38),
    )
    result = run_experiment(EXPERIMENT, config, run_dir=tmp_path / "run", progress=False)
    networks, arrays = result.summary["networks"], result.arrays
    assert list(networks) == ["organics-g2", "learned"]
    static = networks["organics-g2"]
    assert static["diverged_at"] == [0]
    assert 0 <= static["test_accuracy"][0] <= 1
    # 64 images of 32 an update are two updates an epoch.
    norms = arrays["organics-g2.gradient_norms"]
    assert norms.shape == (1, 4)
    assert static["largest_gradient_norm"] == [pytest.approx(norms.max())]
    assert np.isfinite(arrays["organics-g2.validation"]).all()
    # Stable by construction, before and after, at each of five images.
    assert arrays["organics-g2.real_parts"].shape == (1, 2, 5)
    assert np.all(arrays["organics-g2.real_parts"] < 0)

    lost = networks["learned"]
    (update,) = lost["diverged_at"]
    assert update > 1
    assert f"NaN in update {update}" in result.table
    assert np.isnan(lost["test_accuracy"]).all()
    # What there was before it is kept.
    assert np.isfinite(arrays["learned.losses"][0, : update - 1]).all()
    assert np.isnan(arrays["learned.losses"][0, update - 1 :]).all()
    again = load_result(tmp_path / "run", EXPERIMENT)
    assert again.config == config
    assert set(EXPERIMENT.plot(again)) == {"static", "gradients", "spectra", "sequence"}


def test_networks_differ_in_what_they_are_named_for():
    key = jax.random.key(0)
    made = {n: SEQUENCE[n].make(key, 8, TINY) for n in ("learned", "fixed", "learned_identity")}
    # kappa of y, a, b and b0, one for each of eight units.
    assert parameter_count(made["learned"]) - parameter_count(made["fixed"]) == 32
    np.testing.assert_array_equal(made["learned_identity"].W_r, np.eye(8))
    w = np.asarray(made["learned"].W_r)
    np.testing.assert_allclose(w @ w.T, np.eye(8), atol=1e-5)
    static = {n: network.make(key, 64, TINY, 5.0) for n, network in STATIC.items()}
    general, identity = (parameter_count(static[n]) for n in ("organics_general", "organics"))
    assert general - identity == 100
    # Both kinds of weights are g times those of g = 1.
    for name, weights in (("organics", lambda m: m.layers[0].W), ("ssn", lambda m: m.W)):
        np.testing.assert_allclose(
            weights(static[name]), 5 * weights(STATIC[name].make(key, 64, TINY, 1.0)), rtol=1e-5
        )
    # 8 excitatory and 2 inhibitory columns.
    ssn = static["ssn"]
    assert np.all(np.sign(ssn.W) == [1] * 8 + [-1] * 2)
    # An excitatory unit makes a tenth of its way in a step.
    assert STATIC["ssn"].dt / ssn.tau[0] == pytest.approx(0.1)


def test_parts_share_no_image_and_are_the_same_for_every_network():
    for data, side in (("sklearn", 8), ("glyphs", 9)):
        digits = load_digits(dataclasses.replace(TINY, data=data, size=9))
        assert [part.images.shape for part in digits] == [(n, side, side) for n in TINY.parts]
        every = np.concatenate([part.images.reshape(-1, side * side) for part in digits])
        # Among 1797 small images some are alike; not so among 114 of them.
        assert len(np.unique(every, axis=0)) == 114
    tasks = digits.tasks(present="rows")
    assert (tasks.train.n_steps, tasks.test.n_inputs) == (9, 9)


def test_mnist_needs_its_files(tmp_path):
    paper = EXPERIMENT.presets["paper"]
    with pytest.raises(ValueError, match=r"mnist names no folder.*t10k-labels-idx1-ubyte\.gz"):
        EXPERIMENT.run(paper, progress=False)
    with pytest.raises(ValueError, match="looked for train-images-idx3-ubyte"):
        EXPERIMENT.run(dataclasses.replace(paper, mnist=str(tmp_path)), progress=False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": "cifar"}, "data must be one of glyphs, sklearn, mnist"),
        ({"present": "image"}, "present must be one of rows, pixels"),
        ({"static": ("mlp",)}, "unknown network 'mlp' in static"),
        ({"sequence": ("rnn",)}, "unknown network 'rnn' in sequence"),
        ({"static": (), "sequence": ()}, "there is no network to train"),
        ({"scales": ()}, "scales must hold positive numbers"),
        ({"kappa_max": (0.5, 0.0, 0.8)}, "kappa_max must hold positive numbers"),
        ({"kappa_max": (0.5, 1.5, 0.8)}, "kappa_max must be at most 1"),
        ({"parts": (10, 0, 10)}, "parts must each be at least 1"),
        ({"seeds": 0}, "seeds must be at least 1"),
    ],
)
def test_bad_configs_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(TINY, **changes)


@pytest.mark.parametrize(
    ("field", "value"), [("epochs", 0), ("learning_rate", 0.0), ("decay", -1.0), ("log_every", 0)]
)
def test_bad_training_is_refused(field, value):
    with pytest.raises(ValueError, match=field):
        Training(**{field: value})
