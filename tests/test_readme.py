"""The example of the README runs as it is written."""

import re
from pathlib import Path

import numpy as np

README = Path(__file__).parents[1] / "README.md"


def test_the_python_example_runs(capsys):
    (example,) = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    names = {}
    exec(compile(example, str(README), "exec"), names)
    assert capsys.readouterr().out.strip()
    assert names["latents"].shape == (12, 110, 3)
    # What the best predictor that knows only the time, and no interval, leaves on the published
    # grid: a network below it has learned to measure.
    assert np.all(names["error"][4:8] < 9.457e-3)
