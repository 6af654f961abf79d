"""Checks shapes and types of every signature in the package while the tests run."""

import os
import shutil
import tempfile

# Most of the time of the tests is compilation. Files, and the programs that tests start, share what
# they compile: the folder goes by the environment, and so before the first JAX. Each worker has a
# folder of its own, since JAX does not write the entries at once.
_FOLDER = "JAX_COMPILATION_CACHE_DIR"
_made = None
if _FOLDER not in os.environ:
    os.environ[_FOLDER] = _made = tempfile.mkdtemp(prefix="neurosim-tests-")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    # XLA takes its own preferences for features that the processor lacks, and says so each time.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
elif "PYTEST_XDIST_WORKER" in os.environ:
    os.environ[_FOLDER] = os.path.join(os.environ[_FOLDER], os.environ["PYTEST_XDIST_WORKER"])

# Small arrays gain less from XLA's optimizations than these cost.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

from jaxtyping import install_import_hook  # noqa: E402

# Must come before the first import of neurosim.
_hook = install_import_hook("neurosim", "beartype.beartype")
_hook.__enter__()

import jax  # noqa: E402
import jaxtyping  # noqa: E402
import matplotlib  # noqa: E402
import pytest  # noqa: E402

os.environ.setdefault("MPLBACKEND", "Agg")
matplotlib.use("Agg")


def pytest_unconfigure():
    """The process that made the folder of compiled programs removes it."""
    if _made is not None:
        shutil.rmtree(_made, ignore_errors=True)


@pytest.fixture
def double_precision():
    """float64 for the length of a test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def unchecked_signatures():
    """Leaves refusing to the functions themselves, as for users, who have no type checker."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True, scope="module")
def _forget_compiled():
    """A file's compiled programs go with it; those of the whole suite would fill the memory."""
    yield
    jax.clear_caches()
