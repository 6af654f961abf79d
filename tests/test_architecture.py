"""The shape of the package: which room may import which, and what an import brings with it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "neurosim"

# What each room may import of the package. Files at its top belong to the way from a model to a
# trajectory, which `simulate` stands for, apart from the command line.
ARROWS = {
    "kernels": set(),
    "models": {"kernels"},
    "tasks": {"kernels"},
    "analysis": {"kernels"},
    "simulate": {"kernels", "models"},
    "training": {"kernels", "models", "tasks", "analysis", "simulate"},
    "plotting": {"kernels", "models", "tasks", "analysis", "simulate"},
}
# From here up, each room may import everything below it.
BELOW = {"kernels", "models", "tasks", "analysis", "simulate", "training", "plotting"}
for room in ("experiments", "studies", "cli"):
    ARROWS[room] = set(BELOW)
    BELOW.add(room)
# `from . import __version__` and the like.
PACKAGE_ITSELF = "neurosim"


def room_of(module: tuple[str, ...]) -> str:
    """The room that a module, as a tuple of names from `neurosim` on, belongs to."""
    if len(module) == 1:
        return PACKAGE_ITSELF
    name = module[1]
    if name in ARROWS:
        return name
    return "simulate" if (PACKAGE / f"{name}.py").exists() else PACKAGE_ITSELF


def imports_of(path: Path, tree: ast.AST) -> set[tuple[str, ...]]:
    """The modules of the package that a file imports, relative imports made absolute."""
    here = path.relative_to(ROOT).with_suffix("").parts
    package = here[:-1]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            base += tuple((node.module or "").split(".")) if node.module else ()
            # A name may be a room: `from neurosim import models`.
            names = [(*base, alias.name) for alias in node.names] if len(base) == 1 else [base]
        else:
            continue
        found.update(name for name in names if name[0] == "neurosim")
    return found


def modules() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


def forbidden_imports(path: Path, tree: ast.AST) -> list[str]:
    room = room_of(path.relative_to(ROOT).with_suffix("").parts)
    allowed = ARROWS[room] | {room, PACKAGE_ITSELF}
    wrong = [m for m in imports_of(path, tree) if room_of(m) not in allowed]
    return sorted(".".join(module) for module in wrong)


def test_imports_run_one_way():
    wrong = {}
    for path in modules():
        forbidden = forbidden_imports(path, ast.parse(path.read_text()))
        if forbidden:
            wrong[str(path.relative_to(ROOT))] = forbidden
    assert wrong == {}


@pytest.mark.parametrize(
    ("file", "line", "forbidden"),
    [
        ("analysis/pca.py", "from ..models import NMRNN", ["neurosim.models"]),
        ("analysis/pca.py", "def f():\n    import neurosim.tasks.task", ["neurosim.tasks.task"]),
        ("kernels/low_rank.py", "from neurosim import simulate", ["neurosim.simulate"]),
        ("models/nm_rnn.py", "from ..trajectory import Trajectory", ["neurosim.trajectory"]),
        ("training/fit.py", "from ..plotting import style", ["neurosim.plotting"]),
        ("simulate.py", "from .training import fit", ["neurosim.training"]),
        ("models/nm_rnn.py", "from .dynamics import Dynamics", []),
        ("training/fit.py", "from .. import __version__", []),
        ("experiments/a.py", "from ..training import fit\nfrom neurosim import simulate", []),
    ],
)
def test_the_search_for_forbidden_imports_finds_them(file, line, forbidden):
    assert forbidden_imports(PACKAGE / file, ast.parse(line)) == forbidden


def test_every_room_is_in_the_arrows():
    rooms = {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert rooms <= set(ARROWS)


def test_import_brings_nothing_heavy_that_is_not_needed():
    rooms = ["kernels", "models", "tasks", "analysis", "training"]
    heavy = ["matplotlib", "orbax", "sklearn", "pandas", "IPython", "ipykernel", "tyro"]
    code = f"""
import importlib, sys
import neurosim
for room in {rooms}:
    importlib.import_module("neurosim." + room)
print([name for name in {heavy} if name in sys.modules])
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_analysis_brings_no_model_and_no_solver():
    """What an experimenter needs for a recording, and nothing else of this package."""
    code = """
import sys
import neurosim.analysis
import neurosim.analysis.io
rooms = ("models", "tasks", "training", "simulate", "experiments", "plotting")
print([name for name in sys.modules if name.startswith(tuple("neurosim." + r for r in rooms))])
print([name for name in ("diffrax", "sklearn", "pandas", "pynwb") if name in sys.modules])
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["[]", "[]"]


def test_names_of_the_package_are_there_when_they_are_asked_for():
    code = """
import neurosim
from neurosim import DivergenceError, Trajectory, simulate
import neurosim.training, neurosim.simulate
from neurosim.simulate import simulate as same
assert neurosim.simulate is simulate is same and callable(simulate)
assert {"simulate", "Trajectory", "DivergenceError", "__version__"} <= set(dir(neurosim))
assert issubclass(DivergenceError, ArithmeticError) and Trajectory.__name__ == "Trajectory"
try:
    neurosim.simulator
except AttributeError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "has no attribute 'simulator'" in out.stdout


def test_files_are_named_after_ideas():
    leftovers = {
        "utils.py",
        "util.py",
        "helpers.py",
        "helper.py",
        "misc.py",
        "common.py",
        "base.py",
    }
    named = [p.relative_to(ROOT) for p in PACKAGE.rglob("*.py") if p.name in leftovers]
    assert named == []


@pytest.mark.parametrize("room", ["tasks", "analysis", "kernels"])
def test_rooms_are_linked_at_the_root(room):
    link = ROOT / room
    assert link.is_symlink()
    assert link.readlink() == Path("neurosim") / room
    assert link.resolve() == (PACKAGE / room).resolve()


def test_each_room_says_what_it_hands_on():
    silent = []
    for path in PACKAGE.glob("*/__init__.py"):
        body = ast.parse(path.read_text()).body
        names = [t.id for node in body if isinstance(node, ast.Assign) for t in node.targets]
        if len(body) > 1 and "__all__" not in names:
            silent.append(path.parent.name)
    assert silent == []
