"""What is shipped: the wheel works where other packages have our rooms' names."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINKS = ("tasks", "analysis", "kernels")


def build(kind: str, target: Path) -> Path:
    # In a process of its own: the build backend warns of things that are not ours.
    code = (
        "import sys; from hatchling import build; "
        f"print(build.build_{kind}(sys.argv[1]), file=sys.stderr)"
    )
    subprocess.run([sys.executable, "-c", code, str(target)], cwd=ROOT, check=True)
    (built,) = target.iterdir()
    return built


def sources() -> set[str]:
    package = ROOT / "neurosim"
    return {p.relative_to(ROOT).as_posix() for p in package.rglob("*.py")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def run_installed(wheel, tmp_path_factory):
    """Run Python on the installed wheel, from a folder that has rooms of the same names."""
    site = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--target", str(site), str(wheel)], check=True)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for room in LINKS:
        (elsewhere / room).mkdir()
        (elsewhere / room / "__init__.py").write_text(f"raise RuntimeError('{room} of the user')\n")

    def run(*args: str) -> str:
        env = {**os.environ, "PYTHONPATH": str(site)}
        out = subprocess.run(
            [sys.executable, *args], cwd=elsewhere, env=env, capture_output=True, text=True
        )
        assert out.returncode == 0, out.stderr
        return out.stdout.strip()

    run.site = site
    return run


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    info = {name for name in names if ".dist-info/" in name}
    assert names - info == sources()
    (entry_points,) = [name for name in info if name.endswith("entry_points.txt")]
    with zipfile.ZipFile(wheel) as archive:
        assert "neurosim = neurosim.cli:main" in archive.read(entry_points).decode()
    assert any(name.endswith("licenses/LICENSE") for name in info)


def test_the_sdist_holds_each_file_once(tmp_path):
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {name for name in names if name.startswith("neurosim/")} == sources()
    assert {name.partition("/")[0] for name in names}.isdisjoint({*LINKS, ".venv", "runs"})
    assert {"LICENSE", "README.md", "pyproject.toml", "tests/test_packaging.py"} <= names


def test_the_installed_package_is_not_shadowed(run_installed):
    code = "import neurosim.analysis, neurosim.tasks; print(neurosim.analysis.__file__)"
    where = run_installed("-c", code)
    assert Path(where) == run_installed.site / "neurosim" / "analysis" / "__init__.py"


def test_the_installed_command_line_lists_the_experiments(run_installed):
    assert "nm_rnn_timing" in run_installed("-m", "neurosim.cli", "list")


def test_make_sets_up_once(tmp_path):
    assert shutil.which("make"), "the project is set up by make"
    sources = [tmp_path / name for name in ("Makefile", "pyproject.toml", "constraints.txt")]
    for source in sources:
        shutil.copy(ROOT / source.name, source)
        os.utime(source, (1e9, 1e9))
    (tmp_path / ".venv/.stamps").mkdir(parents=True)

    def dry_run(*targets: str) -> str:
        command = ["make", "--dry-run", *targets]
        # Options of a make that runs these tests are not for this one.
        env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
        out = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True
        )
        return out.stdout

    assert "-m venv" in dry_run("demo")
    for number, stamp in enumerate(["venv", "core", "test", "lint", "bench", "docs"]):
        path = tmp_path / ".venv/.stamps" / stamp
        path.touch()
        os.utime(path, (1.1e9 + number, 1.1e9 + number))
    targets = ["demo", "test", "lint", "bench", "docs"]
    assert "install" not in dry_run(*targets)
    os.utime(sources[2], (1.2e9, 1.2e9))
    again = dry_run(*targets)
    assert again.count("install") == 5
    assert "-m venv" not in again


def test_the_constraints_are_names_and_versions_only():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.]+", pin) for pin in pins)
    names = [normal(pin.partition("==")[0]) for pin in pins]
    assert len(set(names)) == len(names)


def test_every_dependency_is_constrained():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    # neurogym asks for one version of NumPy, older than that of all the rest.
    del extras["neurogym"]
    groups = [
        project["build-system"]["requires"],
        project["project"]["dependencies"],
        *extras.values(),
        *project["dependency-groups"].values(),
    ]
    wanted = {
        normal(re.match(r"[A-Za-z0-9._-]+", requirement)[0])
        for group in groups
        for requirement in group
        if isinstance(requirement, str)
    }
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {normal(line.partition("==")[0]) for line in lines if "==" in line}
    assert wanted - pinned == set()


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def tracked_files() -> list[Path]:
    out = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if out.returncode == 0:
        paths = [ROOT / name for name in out.stdout.split("\0") if name]
    else:  # an unpacked source distribution
        made = {".venv", "runs", "build", "dist", "_build", "__pycache__"}
        paths = [p for p in ROOT.rglob("*") if not made & set(p.relative_to(ROOT).parts)]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def found_in_tracked_files(patterns: list[str]) -> list[tuple[str, str]]:
    pattern = re.compile("|".join(patterns))
    texts = {p: p.read_bytes().decode("utf-8", errors="replace") for p in tracked_files()}
    return [(str(p.relative_to(ROOT)), hit) for p, t in texts.items() for hit in pattern.findall(t)]


def test_packages_come_by_name_only():
    # Brackets, so that this file does not find itself.
    places = ["pypi[.]org", "[p]ythonhosted", "[i]ndex-url", "[f]ind-links", "[t]rusted-host"]
    assert found_in_tracked_files(places) == []
    locks = ("uv.lock", "poetry.lock", "pdm.lock", "pip.conf")
    assert [p for p in tracked_files() if p.name in locks] == []


def test_no_file_names_a_folder_of_one_machine():
    assert found_in_tracked_files([r"(?<![\w.])/(?:home|root|Users)/\w+"]) == []
