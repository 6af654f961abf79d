"""Libraries that read recordings, imported where they are needed."""

import importlib
from types import ModuleType


def import_library(name: str, purpose: str) -> ModuleType:
    """Import a library of the extra `data`.

    **Raises:** `ValueError` that names the extra, where the library is not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise ValueError(
            f"{purpose} needs {name}, which is not installed: pip install 'neurosim-toolkit[data]'."
        ) from error
