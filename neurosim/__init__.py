"""Simulate, train and take apart published models of neural circuits."""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .simulate import simulate
    from .trajectory import DivergenceError, Trajectory

__version__ = "0.1.0"

__all__ = ["DivergenceError", "Trajectory", "__version__", "simulate"]


class _Package(ModuleType):
    """Imports the solver when it is first asked for: an analysis of a recording needs none."""

    @property
    def simulate(self) -> Any:
        return importlib.import_module(".simulate", __name__).simulate

    @simulate.setter
    def simulate(self, module: ModuleType) -> None:
        """Python would put the module of the same name in the function's place."""

    @property
    def Trajectory(self) -> Any:
        return importlib.import_module(".trajectory", __name__).Trajectory

    @property
    def DivergenceError(self) -> Any:
        return importlib.import_module(".trajectory", __name__).DivergenceError

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Package
