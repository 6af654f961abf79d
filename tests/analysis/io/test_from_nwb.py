"""NWB files written here and read back, electrodes and all."""

import subprocess
import sys
from datetime import UTC, datetime

import h5py
import numpy as np
import pynwb
import pytest

from neurosim.analysis.io.nwb import from_nwb
from neurosim.analysis.io.signals import cut_signal
from neurosim.analysis.io.spikes import bin_spikes

TRAINS = {5: [0.1, 0.2, 1.5], 9: [0.3], 2: []}
ROWS = {5: [2], 9: [2, 0, 1], 2: [1]}
POSITION = np.column_stack([np.arange(20.0), -np.arange(20.0)])


def make_file():
    nwb = pynwb.NWBFile(
        session_description="made here",
        identifier="x",
        session_start_time=datetime(2020, 1, 1, tzinfo=UTC),
    )
    device = nwb.create_device("probe")
    shank = nwb.create_electrode_group("shank", description="d", location="CA1", device=device)
    for i in range(3):
        # Their ids are not their rows.
        nwb.add_electrode(x=float(i), location=f"site {i}", group=shank, id=10 + i)
    nwb.add_unit_column("quality", "by hand")
    for unit, times in TRAINS.items():
        nwb.add_unit(
            spike_times=times,
            electrodes=ROWS[unit],
            electrode_group=shank,
            quality=f"q{unit}",
            id=unit,
            obs_intervals=[[0.0, 1.0], [1.5, 2.0]][: len(ROWS[unit])],
        )
    nwb.add_trial_column("cue", "the cue")
    nwb.add_trial(0.0, 1.0, cue="left")
    nwb.add_trial(1.0, 2.0, cue="right")
    nwb.add_epoch(0.0, 2.0, ["run", "maze"])
    nwb.add_acquisition(
        pynwb.ecephys.ElectricalSeries(
            name="lfp",
            data=np.arange(6).reshape(3, 2),
            electrodes=nwb.create_electrode_table_region([2, 0], "two"),
            rate=3.0,
            starting_time=2.0,
            conversion=1e-3,
            channel_conversion=[1.0, 2.0],
            offset=0.5,
        )
    )
    series = pynwb.behavior.SpatialSeries(
        name="spot", data=POSITION, timestamps=np.arange(20) / 10, reference_frame="box", unit="m"
    )
    behaviour = nwb.create_processing_module("behavior", "b")
    behaviour.add(pynwb.behavior.Position(name="Position", spatial_series=series))
    nwb.add_acquisition(pynwb.TimeSeries(name="speed", data=[1, 2], rate=1.0, unit="m/s"))
    behaviour.add(pynwb.TimeSeries(name="speed", data=[3.0, 4.0], rate=1.0, unit="m/s"))
    nwb.add_acquisition(
        pynwb.ecephys.ElectricalSeries(
            name="waves",
            data=np.ones((1, 2, 3)),
            timestamps=[0.0],
            electrodes=nwb.create_electrode_table_region([1, 2], "two"),
            channel_conversion=[1.0, 2.0],
        )
    )
    nwb.add_acquisition(pynwb.TimeSeries(name="notes", data=["a"], timestamps=[0.0], unit="n.a."))
    film = {"external_file": ["film.avi"], "starting_frame": [0], "format": "external"}
    nwb.add_acquisition(pynwb.image.ImageSeries(name="film", timestamps=[0.0], unit="n.a.", **film))
    return nwb


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("nwb") / "session.nwb"
    with pynwb.NWBHDF5IO(path, "w") as io:
        io.write(make_file())
    return path


def test_spikes_by_unit(path):
    found = from_nwb(path)
    assert list(found.spike_times) == [5, 9, 2]
    for unit, times in TRAINS.items():
        np.testing.assert_array_equal(found.spike_times[unit], times)
        assert found.spike_times[unit].dtype == np.float64
    assert found.unit_info["quality"].tolist() == ["q5", "q9", "q2"]
    assert found.unit_info["electrode_group"].tolist() == ["shank"] * 3
    np.testing.assert_array_equal(found.unit_info["obs_intervals"][1], [[0, 1], [1.5, 2]])
    assert found.session_start_time == datetime(2020, 1, 1, tzinfo=UTC)
    assert "3 units" in repr(found)


def test_units_keep_their_own_electrodes(path):
    # Their own, and in their own order, which an index into the file would sort.
    found = from_nwb(path)
    for unit, rows in ROWS.items():
        np.testing.assert_array_equal(found.unit_electrodes[unit], rows)
        own = found.electrodes_of(unit)
        assert own["location"].tolist() == [f"site {row}" for row in rows]
        np.testing.assert_array_equal(own["id"], [10 + row for row in rows])
    with pytest.raises(ValueError, match="unit 77 has no electrodes"):
        found.electrodes_of(77)


@pytest.mark.parametrize("rows", [[2, 0, 1], [1, 2, 0]])
def test_one_electrode_each_in_any_order(tmp_path, rows):
    nwb = make_file()
    for row, unit in zip(rows, (20, 21, 22), strict=True):
        nwb.add_unit(
            spike_times=[float(row)],
            electrodes=[row],
            electrode_group=nwb.electrode_groups["shank"],
            quality="",
            id=unit,
            obs_intervals=[[0.0, 9.0]],
        )
    with pynwb.NWBHDF5IO(tmp_path / "f.nwb", "w") as io:
        io.write(nwb)
    found = from_nwb(tmp_path / "f.nwb", units=[22, 20, 21])
    assert list(found.spike_times) == [22, 20, 21]
    for row, unit in zip(rows, (20, 21, 22), strict=True):
        assert found.electrodes_of(unit)["location"].tolist() == [f"site {row}"]
        np.testing.assert_array_equal(found.spike_times[unit], [row])


def test_only_the_units_asked_for_are_read(path):
    found = from_nwb(path, units=[2, 5])
    assert list(found.spike_times) == [2, 5]
    assert found.unit_info["quality"].tolist() == ["q2", "q5"]
    assert len(found.unit_info["obs_intervals"]) == 2
    assert list(found.unit_electrodes) == [2, 5]


def test_trials_go_into_the_counts(path):
    found = from_nwb(path)
    assert found.trials["cue"].tolist() == ["left", "right"]
    counts = bin_spikes(found.spike_times, epochs=found.trials, bin=0.5)
    np.testing.assert_array_equal(counts.counts[..., 0], [[2, 0], [0, 1]])
    np.testing.assert_array_equal(counts.unit_ids, [5, 9, 2])
    assert counts.labels["cue"].tolist() == ["left", "right"]
    assert found.intervals["epochs"]["tags"][0].tolist() == ["run", "maze"]
    assert set(found.intervals) == {"trials", "epochs"}
    whole = bin_spikes(found.spike_times, epochs=found.intervals["epochs"], bin=1)
    assert "tags" not in whole.labels


def test_series_by_name_in_their_unit(path):
    nothing = from_nwb(path)
    assert nothing.series == {}
    assert set(nothing.series_names) == {
        "acquisition/lfp",
        "acquisition/speed",
        "acquisition/notes",
        "acquisition/waves",
        "acquisition/film",
        "processing/behavior/speed",
        "processing/behavior/Position/spot",
    }
    found = from_nwb(path, series=["Position", "lfp", "behavior/speed"])
    position = found.series["Position"]
    np.testing.assert_array_equal(position.values, POSITION)
    np.testing.assert_array_equal(position.times, np.arange(20) / 10)
    assert position.unit == "m"
    assert position.electrodes is None
    lfp = found.series["lfp"]
    np.testing.assert_allclose(lfp.values, [[0.5, 0.502], [0.502, 0.506], [0.504, 0.51]])
    np.testing.assert_array_equal(lfp.times, [2.0, 2 + 1 / 3, 2 + 2 / 3])
    np.testing.assert_array_equal(lfp.electrodes, [2, 0])
    np.testing.assert_array_equal(found.series["behavior/speed"].values, [[3.0], [4.0]])
    assert list(from_nwb(path, series="lfp").series) == ["lfp"]
    trials = cut_signal(position.values, position.times, epochs=found.trials)
    np.testing.assert_array_equal(trials.values[1, :, 0], np.arange(10, 20))


def test_an_open_file_and_one_that_was_never_written(path):
    with pynwb.NWBHDF5IO(path, "r") as io:
        found = from_nwb(io.read(), series="Position")
    # The file is closed: what was read is not.
    np.testing.assert_array_equal(found.spike_times[5], TRAINS[5])
    np.testing.assert_array_equal(found.series["Position"].values, POSITION)
    assert found.trials["cue"].tolist() == ["left", "right"]
    in_memory = from_nwb(make_file(), series=["Position", "waves"])
    np.testing.assert_array_equal(in_memory.spike_times[9], TRAINS[9])
    np.testing.assert_array_equal(in_memory.unit_electrodes[9], ROWS[9])
    np.testing.assert_array_equal(in_memory.series["Position"].values, POSITION)
    # Factors of channels apply to channels, the axis before that of the samples.
    np.testing.assert_array_equal(in_memory.series["waves"].values, [[[1, 1, 1], [2, 2, 2]]])
    assert in_memory.trials["cue"].tolist() == ["left", "right"]


def test_a_file_without_anything_is_empty(tmp_path):
    nwb = pynwb.NWBFile("nothing", "x", datetime(2020, 1, 1, tzinfo=UTC))
    with pynwb.NWBHDF5IO(tmp_path / "e.nwb", "w") as io:
        io.write(nwb)
    found = from_nwb(tmp_path / "e.nwb", series="all")
    assert found.spike_times == found.trials == found.electrodes == found.series == {}
    with pytest.raises(ValueError, match="the file has no units"):
        from_nwb(tmp_path / "e.nwb", units=[1])


def test_ids_that_repeat_are_replaced(tmp_path):
    nwb = pynwb.NWBFile("twice", "x", datetime(2020, 1, 1, tzinfo=UTC))
    for k in range(2):
        nwb.add_unit(spike_times=[float(k)], id=4)
    with pytest.warns(UserWarning, match="ids of units repeat"):
        found = from_nwb(nwb)
    np.testing.assert_array_equal(found.spike_times[1], [1.0])


def test_bad_requests_are_refused(path):
    for options, message in [
        ({"units": [5, 6]}, r"no units \[6\]; it has \[5, 9, 2\]"),
        ({"series": "head"}, "series 'head' fits none"),
        ({"series": ["speed"]}, "series 'speed' fits 2"),
        ({"series": "notes"}, "not numbers over time"),
        ({"series": "film"}, "keeps its frames in other files"),
    ]:
        with pytest.raises(ValueError, match=message):
            from_nwb(path, **options)


def test_bad_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        from_nwb(tmp_path / "none.nwb")
    with pytest.raises(ValueError, match="is a folder"):
        from_nwb(tmp_path)
    (tmp_path / "text.nwb").write_text("no HDF5")
    with pytest.raises(ValueError, match="no NWB file that pynwb can open"):
        from_nwb(tmp_path / "text.nwb")
    h5py.File(tmp_path / "other.h5", "w").close()
    with pytest.raises(ValueError, match="no NWB file that pynwb can open"):
        from_nwb(str(tmp_path / "other.h5"))
    with pytest.raises(ValueError, match="must be the path"):
        from_nwb(3)


def test_the_library_is_asked_for_by_the_extra_that_brings_it(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynwb", None)
    with pytest.raises(ValueError, match=r"needs pynwb.*neurosim-toolkit\[data\]"):
        from_nwb(path)


def test_importing_the_doors_imports_none_of_the_libraries():
    libraries = ["pynapple", "pynwb", "neo", "xarray", "pandas", "sklearn", "h5py", "quantities"]
    code = (
        "import sys, neurosim.analysis.io, neurosim.analysis.resampling; "
        f"print([name for name in {libraries} if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
