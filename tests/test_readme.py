"""The examples of the README run as they are written."""

import re
from pathlib import Path

import numpy as np

README = Path(__file__).parents[1] / "README.md"


def test_the_python_examples_run(capsys):
    first, sofo, normalization, places, recording = re.findall(
        r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL
    )
    names = {}
    exec(compile(first, str(README), "exec"), names)
    assert capsys.readouterr().out.strip()
    assert names["latents"].shape == (12, 110, 3)
    # What the best predictor that knows only the time, and no interval, leaves on the published
    # grid: a network below it has learned to measure.
    assert np.all(names["error"][4:8] < 9.457e-3)
    exec(compile(sofo, str(README), "exec"), names)
    assert names["second_order"].losses[-10:].mean() < 0.05
    capsys.readouterr()
    exec(compile(normalization, str(README), "exec"), names)
    # The semisaturation of the ring.
    np.testing.assert_allclose(float(capsys.readouterr().out), 0.1, rtol=1e-3)
    exec(compile(places, str(README), "exec"), names)
    # Mean and standard deviation over pairs of maps.
    assert abs(float(capsys.readouterr().out) - 8.0) < 3 * 9.3 / 200**0.5
    exec(compile(recording, str(README), "exec"), names)
    assert names["found"].accuracy.shape == (10, 10)
    # Spikes that know nothing of the side: each entry is a share of 29 trials.
    assert abs(names["found"].accuracy.mean() - 0.5) < 0.1
