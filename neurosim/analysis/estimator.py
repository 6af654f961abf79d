"""What fitted analyses share: the protocol of scikit-learn's estimators, without its import.

An estimator here is one to scikit-learn as well: it can be cloned, searched over and put into a
pipeline. Nothing of scikit-learn is imported unless scikit-learn itself asks.
"""

import abc
import importlib
import inspect
import sys
from typing import Any, ClassVar, Literal

import jax
import numpy as np

from .activity import Activity, is_traced, read_activity


class Estimator(abc.ABC):
    """A fitted analysis: parameters from the constructor, results in attributes ending in `_`.

    The constructor of a subclass stores its arguments under their own names and does nothing
    else; `fit` checks them and returns the estimator. There is no state here.

    A subclass that predicts or clusters says so in `estimator_kind`; one with a method `transform`
    needs not. One whose `fit` cannot do without `y` says so in `needs_target`, and one that takes
    missing values in `takes_nan`.
    """

    estimator_kind: ClassVar[Literal["classifier", "regressor", "clusterer"] | None] = None
    needs_target: ClassVar[bool] = False
    takes_nan: ClassVar[bool] = False

    @abc.abstractmethod
    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit to activity `X`, and targets or labels `y` where there are any; returns itself."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name, those of nested estimators as `outer__inner`."""
        params: dict[str, Any] = {}
        for name in _parameter_names(type(self)):
            value = params[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{name}__{inner}": v for inner, v in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Any:
        """Set constructor arguments by name, also `outer__inner`; returns the estimator itself."""
        names = _parameter_names(type(self))
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in names:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {_listed(names)}."
                )
            if inner:
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params(False).items())
        return f"{type(self).__name__}({given})"

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks before it uses an estimator; only scikit-learn calls this."""
        tags = importlib.import_module("sklearn.utils")
        kind, transforms = self.estimator_kind, hasattr(self, "transform")
        return tags.Tags(
            estimator_type=kind or ("transformer" if transforms else None),
            target_tags=tags.TargetTags(required=self.needs_target),
            # float32 comes back as float64.
            transformer_tags=tags.TransformerTags(preserves_dtype=[]) if transforms else None,
            classifier_tags=tags.ClassifierTags() if kind == "classifier" else None,
            regressor_tags=tags.RegressorTags() if kind == "regressor" else None,
            input_tags=tags.InputTags(three_d_array=True, allow_nan=self.takes_nan),
        )


class NotFittedError(ValueError, AttributeError):
    """An estimator was asked for results before `fit`."""


def check_fitted(estimator: Estimator) -> None:
    """Raise unless `fit` has set an attribute ending in `_`.

    The error is scikit-learn's own where that is loaded, so that its tools recognise it, and
    `NotFittedError` where not: a `ValueError` either way.
    """
    if any(name.endswith("_") and not name.startswith("_") for name in vars(estimator)):
        return
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", NotFittedError)
    raise theirs(f"this {type(estimator).__name__} is not fitted yet: call fit first.")


def check_n_features(estimator: Any, n: int, *, axis_name: str = "neuron") -> None:
    """Raise `ValueError` where activity has another number of neurons than was fitted."""
    if n != estimator.n_features_in_:
        # The first clause is what scikit-learn's own checks look for.
        raise ValueError(
            f"X has {n} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input: it was fitted to that many "
            f"{axis_name}s, the last axis."
        )


def refuse_traced(x: Any, what: str) -> None:
    """Raise `TypeError` where `x`, or anything in it, is not known yet, as under `jit`."""
    # Not `jax.tree`, which sorts the keys of a dictionary, and units may be named by any.
    if isinstance(x, (list, tuple, dict)):
        for item in x.values() if isinstance(x, dict) else x:
            refuse_traced(item, what)
    elif is_traced(x):
        raise TypeError(
            f"{what} is computed in NumPy and needs the values of its input, which are not known "
            "under jit, grad or vmap: call it outside of them."
        )


def read_features(X: Any, *, name: str = "X", axis_name: str = "neuron") -> Activity:
    """`read_activity` for estimators: refusals in the words that scikit-learn's tools look for.

    Object arrays of plain numbers, as data frames of mixed columns give them, are read as numbers,
    and lists of rows of numbers as one array.

    **Arguments** and **Returns** are those of `read_activity`.

    **Raises:** `ValueError` as `read_activity` does; `TypeError` for a sparse matrix, and for
    entries of an object array that are no numbers.
    """
    if hasattr(X, "tocsr"):
        raise TypeError(f"{name} is a sparse matrix, which is not supported: use {name}.toarray().")
    if _is_rows_of_numbers(X) or not isinstance(X, (list, tuple, jax.Array, np.ma.MaskedArray)):
        X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.dtype == object and X.size > 0:
        # An array of arrays is a list of trials too, which read_activity knows.
        X = X.astype(np.float64) if all(np.ndim(value) == 0 for value in X.flat) else X
    if isinstance(X, (np.ndarray, jax.Array)):
        if X.ndim >= 2 and X.shape[-1] == 0:
            raise ValueError(
                f"{name} has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
            )
        if np.issubdtype(X.dtype, np.complexfloating):
            raise ValueError(f"Complex data not supported: {name} must hold real numbers.")
    try:
        return read_activity(X, name=name, axis_name=axis_name)
    except ValueError as error:
        message = str(error).replace("(nan)", "(NaN)")
        if getattr(X, "ndim", 0) == 1:
            message += (
                f" Reshape your data: {name}.reshape(-1, 1) for one {axis_name}, "
                f"{name}.reshape(1, -1) for one sample."
            )
        raise ValueError(message) from None


def _is_rows_of_numbers(X: Any) -> bool:
    """Whether a list is one array written out; a list of arrays is one of trials."""
    if not isinstance(X, (list, tuple)) or len(X) == 0 or not isinstance(X[0], (list, tuple)):
        return False
    return not any(isinstance(v, (list, tuple, np.ndarray, jax.Array)) for v in X[0])


def _parameter_names(cls: type) -> list[str]:
    if cls.__init__ is object.__init__:
        return []
    return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or "none"
