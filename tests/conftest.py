"""Checks shapes and types of every signature in the package while the tests run."""

from jaxtyping import install_import_hook

# Must come before the first import of neurosim.
_hook = install_import_hook("neurosim", "beartype.beartype")
_hook.__enter__()

import os  # noqa: E402

import matplotlib  # noqa: E402

os.environ.setdefault("MPLBACKEND", "Agg")
matplotlib.use("Agg")
