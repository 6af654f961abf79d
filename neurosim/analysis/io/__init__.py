"""Recordings, and what is done to them before an analysis: arrays `(trial, time, unit)`."""

from .condition_averages import ConditionAverages, average_by
from .count_statistics import SpikingUnits, drop_silent_units, fano_factor, variance_stabilise
from .epochs import Epochs, read_epochs
from .missing_values import CompleteTrials, complete_trials
from .neo_objects import from_neo
from .nwb import NWBRecording, from_nwb
from .nwb_series import NWBSeries
from .pseudo_population import PseudoPopulation, pseudo_population
from .pynapple_objects import from_pynapple
from .signals import SignalTrials, cut_signal
from .smoothing import smooth
from .spikes import SpikeCounts, bin_spikes
from .trials import PaddedTrials, pad_trials, padding_mask, unpad_trials
from .xarray_objects import from_xarray

__all__ = [
    "CompleteTrials",
    "ConditionAverages",
    "Epochs",
    "NWBRecording",
    "NWBSeries",
    "PaddedTrials",
    "PseudoPopulation",
    "SignalTrials",
    "SpikeCounts",
    "SpikingUnits",
    "average_by",
    "bin_spikes",
    "complete_trials",
    "cut_signal",
    "drop_silent_units",
    "fano_factor",
    "from_neo",
    "from_nwb",
    "from_pynapple",
    "from_xarray",
    "pad_trials",
    "padding_mask",
    "pseudo_population",
    "read_epochs",
    "smooth",
    "unpad_trials",
    "variance_stabilise",
]
