"""A trained model out of the directory of its run."""

import os
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax

from .checkpoint import CheckpointError, load_checkpoint, read_checkpoint_header

_PREFIX = "['model']"


def load_model(
    run_dir: str | os.PathLike[str],
    like: Any,
    *,
    which: Literal["best", "last"] = "best",
    member: int | None = None,
) -> Any:
    """Read a trained model from the `run_dir` that was given to `fit` or `fit_ensemble`.

    **Arguments:**

    - `run_dir`: the directory; of an experiment's run, `RUN_DIR/train/NAME`.
    - `like`: a model of the same kind and sizes, freshly initialised for example.
    - `which`: the `"best"` model by the validation (or else training) loss, or the `"last"` one.
    - `member`: which model of an ensemble.

    **Returns:** a model like `like` with the trained values.

    **Raises:** `ValueError` for a directory without that checkpoint, a model of another kind or
    size, or a member that is missing or not needed.

    ```python
    model = load_model("runs/mine", like=VanillaRNN.init(100, 3, 3, key=key))
    ```
    """
    if which not in ("best", "last"):
        raise ValueError(f"which must be 'best' or 'last', got {which!r}.")
    path = Path(run_dir) / "checkpoints" / which
    header = read_checkpoint_header(path)
    members = header["record"].get("members")
    if members is not None and not isinstance(members, int):
        raise CheckpointError(f"{path} is malformed: it says that it holds {members!r} models.")
    if members is None and member is not None:
        raise ValueError(f"{path} holds one model, not an ensemble: leave member out.")
    if members is not None and (member is None or not 0 <= member < members):
        raise ValueError(f"{path} holds {members} models: member must be 0 to {members - 1}.")

    def stacked(leaf: Any) -> Any:
        if members is None or not eqx.is_array(leaf):
            return leaf
        return jax.ShapeDtypeStruct((members, *leaf.shape), leaf.dtype)

    wanted = {"model": jax.tree.map(stacked, like)}
    # The checkpoint holds more than the model; what that is does not matter here.
    model = load_checkpoint(path, wanted, only=_PREFIX).tree["model"]
    if members is None:
        return model
    return jax.tree.map(lambda new, old: new[member] if eqx.is_array(old) else new, model, like)
