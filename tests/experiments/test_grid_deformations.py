"""Deformed grid modules: sizes, metrics and tori as theory has them."""

import dataclasses

import numpy as np
import pytest

from neurosim.experiments import get_experiment, load_result, run_experiment


def test_deformed_modules_agree_with_their_closed_forms(tmp_path):
    experiment = get_experiment("grid_deformations")
    config = dataclasses.replace(
        experiment.presets["quick"], n_per_side=4, spacing=0.4, smoothing=0.4 * 0.05 / 0.3,
        n_bins=20, n_landmarks=60, n_seeds=1, push_gains=(0.2, 1.5),
    )  # fmt: skip
    result = run_experiment(experiment, config, run_dir=tmp_path / "run", progress=False)
    again = load_result(tmp_path / "run", experiment)
    assert again.config == config
    assert set(again.arrays) == set(result.arrays)
    figures = sorted((tmp_path / "run" / "figures").glob("*.png"))
    assert {path.stem for path in figures} == {
        "barcodes", "manifolds", "maps", "metric", "push", "sizes"
    }  # fmt: skip
    assert all(path.stat().st_size > 5000 for path in figures)

    said = result.summary
    for name, value in said["closed_forms"].items():
        # An arena that holds no whole number of spacings, and differences instead of derivatives.
        assert value["measured"] == pytest.approx(value["known"], rel=0.03), name
    # Exactly so, for what depends on neither.
    known = said["closed_forms"]["diffused: ratio of radii"]
    assert known["measured"] == pytest.approx(known["known"], rel=1e-6)
    assert known["known"] == pytest.approx(0.481388, abs=1e-6)
    assert said["diffused"]["pearson"][0] == pytest.approx(1)
    for torus in ("original", "diffused", "attracted"):
        assert said[torus]["betti"] == [[1, 2, 1]]
    assert said["parallel_bands"]["betti"] == [[1, 1, 0]]
    assert said["parallel_bands"]["anisotropy"][0] == pytest.approx(1)
    assert said["all_bands"]["betti"] == [[1, 0, 0]]
    assert said["original"]["variation"][0] < 1e-3
    assert said["attracted"]["variation"][0] > 0.05
    # With a constant budget a strong push tears the torus; at a constant amplitude none does.
    assert said["push"]["constant"] == {"0.2": [1, 2, 1], "1.5": [1, 2, 1]}
    assert said["push"]["budget"]["1.5"] != [1, 2, 1]
    radii = result.arrays["push.budget.radius"]
    assert radii[1] > radii[0] > said["original"]["radius"][0]
    assert np.isfinite(result.arrays["attracted.conformal_factor_map"]).all()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n_per_side": 3}, "n_per_side must be at least 4"),
        ({"spacing": 0.0}, "spacing must be positive"),
        ({"n_landmarks": 2000}, "at most the 1600 bins"),
        ({"fraction": 1.0}, "between 0 and 1"),
        ({"push_gains": (0.2, 3.0)}, "below 2.24"),
        ({"center": (0.5, 1.5)}, "in the arena"),
        ({"ring_width": -1.0}, "ring_width must be positive"),
    ],
)
def test_configs_that_make_no_sense_are_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        dataclasses.replace(get_experiment("grid_deformations").presets["quick"], **changes)
