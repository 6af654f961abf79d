"""Capacity of place cells: a small run whole, one that goes on, and what is refused."""

import dataclasses

import numpy as np
import pytest

from neurosim.analysis import capacity_exponent, distance_moments
from neurosim.experiments import get_experiment, load_result, run_experiment
from neurosim.experiments import place_capacity as module
from neurosim.experiments.place_capacity import Config
from neurosim.experiments.place_capacity_bias import crossing
from neurosim.experiments.place_capacity_maps import NOISES, Population, kept_part
from neurosim.experiments.run_directory import RunDirectory

EXPERIMENT = get_experiment("place_capacity")
#: One population serves growth, widths and bias.
SMALL = Config(
    cells=(20, 40), growth_pairs=16, n_cells=40, rooms=(1.0,), relative_widths=(1 / 3,),
    width_pairs=16, areas=(1.0,), box_widths=(1.0,), box_pairs=8, tradeoff_widths=(1.0,),
    tradeoff_pairs=8, weights=(0.0, 0.5, 1.0), biases=(1.0,), bias_pairs=32,
    counted_cells=2000, bootstraps=20, sigmas=(2.0, 5.0), phis=(0.5,),
)  # fmt: skip


def test_a_small_run_and_one_that_goes_on(tmp_path, monkeypatch):
    result = run_experiment(EXPERIMENT, SMALL, run_dir=tmp_path / "run", progress=False)
    again = load_result(tmp_path / "run", EXPERIMENT)
    assert again.config == SMALL
    assert set(again.arrays) == set(result.arrays)
    figures = sorted((tmp_path / "run" / "figures").glob("*.png"))
    assert {path.stem for path in figures} == {
        "distances", "growth", "exponents", "exponent_maps", "tradeoff", "boundary_bias",
        "bias_by_width", "field_counts",
    }  # fmt: skip
    assert all(path.stat().st_size > 5000 for path in figures)

    a = result.arrays
    for noise, level in zip(NOISES, (2.0, 0.5)):
        d = a[f"growth.{noise}.distances"]
        assert d.shape == (2, 16)
        mu, lam = distance_moments(d[1], 40, noise=noise)
        assert a[f"growth.{noise}.mu"][1] == mu
        assert a[f"growth.{noise}.exponent"][0, 1] == capacity_exponent(
            mu, lam, noise=noise, level=level
        )
        # More cells never bring contexts nearer.
        assert (d[1] >= d[0]).all()
    assert (a["growth.constant.log_capacity"][1] < np.log(2)).all()
    # -9.1 with 200 cells; of 32 maps of 40 within a fifth or so.
    assert a["tradeoff.log_error"][0] == pytest.approx(-9.1 + np.log(5), abs=0.5)
    # 8.77 at walls: standard error 2.5 %, and the least of four is lower.
    assert 8.0 < a["bias.height"][0, 0] < 9.3
    assert a["bias.from_wall"][0, 0] == 0
    # 0.0366, of 1280 squared differences; the Gaussian one is larger.
    assert 0.02 < a["width.1d.exact"][0, 0, 0] < 0.055
    assert a["width.2d.constant.exponent"].shape == (1, 1)
    np.testing.assert_allclose(a["fields.pmf"][0, :4], [0.71554, 0.21466, 0.05367, 0.01252],
                               atol=5.1e-6)  # fmt: skip
    assert a["bias.theory"][0] == pytest.approx(0.5978, abs=1e-4)
    rows = result.table.splitlines()[2:]
    assert len(rows) == result.summary["within"] + len(result.summary["outside"])

    # Killed after some parts: one is damaged, one lost, the others not drawn again.
    drawn = []

    def counted(name):
        draw = getattr(module, name)
        return lambda *args: drawn.append(name) or draw(*args)

    for name in ("tradeoff_draws", "field_counts"):
        monkeypatch.setattr(module, name, counted(name))
    for name in ("growth_distances", "width_distances", "bias_draws"):
        monkeypatch.setattr(module, name, None)
    (tmp_path / "run" / "parts" / "trade-off_1_m.npz").write_bytes(b"PK\x03\x04 cut")
    (tmp_path / "run" / "parts" / "fields.npz").unlink()
    directory = RunDirectory(tmp_path / "run", "place_capacity", SMALL, resume=True)
    resumed = module.run(SMALL, directory=directory, resume=True, progress=False)
    assert drawn == ["field_counts", "tradeoff_draws"]
    for name, value in result.arrays.items():
        np.testing.assert_array_equal(resumed.arrays[name], value, err_msg=name)


def test_where_the_minimum_leaves_the_walls():
    biases = np.array([1.0, 0.5, 0.7])
    assert crossing(biases, np.array([-2.0, 0.5, -0.5])) == pytest.approx(0.6)
    assert np.isnan(crossing(biases, np.array([-2.0, -1.0, -1.5])))


def test_parts_need_no_folder(tmp_path):
    assert kept_part(None, "x", lambda: {"a": [1, 2]})["a"].tolist() == [1, 2]
    directory = RunDirectory(tmp_path, "place_capacity", SMALL, resume=False)
    for _ in range(2):
        assert kept_part(directory, "x", lambda: {"a": [1, 2]})["a"].tolist() == [1, 2]
    assert kept_part(directory, "x", lambda: 1 / 0)["a"].tolist() == [1, 2]  # pyright: ignore


def test_grids_hold_walls_and_the_middle():
    for size, width, dim in ((1.0, 1 / 3, 1), (16.0, 1.6, 1), (4.0, 0.8, 2), (1.0, 5.0, 2)):
        grid = Population(size, width, 5, dim).grid
        assert {0.0, size / 2, size} <= set(grid[:, 0])
        step = np.diff(np.unique(grid[:, 0])).max()
        assert step <= min(width / (8, 4)[dim - 1], size / 10) + 1e-12


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"width_pairs": 4}, "width_pairs must be at least 5"),
        ({"width": 0.0}, "width must be positive"),
        ({"confidence": 1.0}, "confidence must be between 0 and 1"),
        ({"cells": (50, 50)}, "cells must be positive and different"),
        ({"cells": (50, 1)}, "cells must be whole numbers from 2 on"),
        ({"rooms": ()}, "rooms must have one value"),
        ({"biases": (-1.0,)}, "biases must be positive"),
        ({"sigmas": (np.nan,)}, "sigmas must be positive"),
        ({"weights": (1.5,)}, "weights must be from 0 to 1"),
        ({"q": -1.0}, "q must be at least 0"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_configs_that_make_no_sense_are_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        dataclasses.replace(SMALL, **changes)
