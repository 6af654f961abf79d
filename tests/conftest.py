"""Checks shapes and types of every signature in the package while the tests run."""

from jaxtyping import install_import_hook

# Must come before the first import of neurosim.
_hook = install_import_hook("neurosim", "beartype.beartype")
_hook.__enter__()

import os  # noqa: E402

import jax  # noqa: E402
import jaxtyping  # noqa: E402
import matplotlib  # noqa: E402
import pytest  # noqa: E402

os.environ.setdefault("MPLBACKEND", "Agg")
matplotlib.use("Agg")


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
