"""The Python of each page of the guide runs as it is written, from top to bottom."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs" / "guide").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def python_of(page: Path) -> str:
    """The blocks of a page, each at its own line, so that an error names the line of the page."""
    text = page.read_text()
    code = [""] * text.count("\n")
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        lines = block[1].splitlines()
        code[first : first + len(lines)] = lines
    return "\n".join(code) + "\n"


def test_there_is_a_guide():
    assert {"your_own_circuit", "training", "experiments"} <= {page.stem for page in PAGES}


@pytest.mark.parametrize(
    "page", [p for p in PAGES if "```python" in p.read_text()], ids=lambda p: p.stem
)
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Under this name classes find their module, as in a script.
    exec(compile(python_of(page), str(page), "exec"), {"__name__": "__main__"})
    plt.close("all")
