"""What a grid code has to obey while it learns: activity not negative, and of one norm."""

from typing import Any

import equinox as eqx

from ..models.path_integrating_rnn import PathIntegratingRNN
from .constraints import Constraint, Where


def _itself(model: Any) -> Any:
    return model


class GridCodeConstraint(Constraint):
    """The published constraints of a path-integrating network, in their order.

    After each step the codebook v is rectified, the bias replaced by its magnitude, and every block
    of v scaled to norm 1 / sqrt(K) at every bin. A block that is silent at a bin stays silent.

    **Arguments:**

    - `where`: picks the `PathIntegratingRNN` in the model; the model itself by default.

    **Reference:** Xu et al. (2022), NeurReps; Acosta et al. (2024), NeurIPS 37.
    """

    where: Where = eqx.field(static=True, default=_itself)

    def start(self, model: Any) -> Any:
        network = self.where(model)
        if not isinstance(network, PathIntegratingRNN):
            raise ValueError(
                f"GridCodeConstraint needs a PathIntegratingRNN, got {type(network).__name__}."
            )
        return self.project(model, model)

    def project(self, model: Any, initial: Any) -> Any:
        network = self.where(model).project()
        # `tree_at` cannot replace the root of a tree.
        return network if self.where is _itself else eqx.tree_at(self.where, model, network)
