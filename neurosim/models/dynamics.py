"""What a model is: a vector field, a readout, a place to start."""

import abc
import dataclasses
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
from jaxtyping import Array, Float, PyTree

State = PyTree


class Dynamics(eqx.Module):
    """A circuit as a differential equation with a readout.

    Arrays carry no batch axis: batching is `jax.vmap`'s job, and `simulate` does it. Input, state
    and time are in the units that the model's parameters are in.

    Seven capabilities are optional, and found by their names:

    - `step(t, state, input, dt) -> state`: the published recursion, where plain Euler is not it
      (see `HasStep`). `simulate` takes it unless told otherwise.
    - `discrete`: true for a recursion that knows no `dt` and is applied once a sample. `simulate`
      then refuses substeps, and inputs that change between samples.
    - `n_inputs`: the number of input channels, so that runs without inputs get silence, and wrong
      inputs are named.
    - `diffusion(t, state, input) -> state`: the standard deviation of process noise for each entry
      of the state, per square root of time (see `HasDiffusion`).
    - `noisy_step(t, state, input, dt, dW) -> state`: the published recursion together with that
      noise, where adding `diffusion * dW` at the end of `step` is not it (see `HasNoisyStep`).
    - `prepared() -> model`: an equal model on which work that depends on parameters alone, such as
      an orthonormalisation, is done already (see `HasPrepared`). `simulate` asks for it once a
      run, inside the trace, so gradients flow through it.
    - `time_constants -> dict`: the time constants of the model's leaks by name (see
      `HasTimeConstants`). `simulate` refuses first-order steps that they make unstable.
    """

    @abc.abstractmethod
    def initial_state(self) -> State:
        """The state a trial starts from."""

    @abc.abstractmethod
    def vector_field(self, t: Any, state: State, input: Any) -> State:
        """The time derivative of the state."""

    @abc.abstractmethod
    def readout(self, state: State) -> Float[Array, " output"]:
        """What the circuit shows to the outside."""


@runtime_checkable
class HasStep(Protocol):
    """A model with a published recursion of its own."""

    def step(self, t: Any, state: State, input: Any, dt: Any) -> State:
        """The state one `dt` later, with `input` held."""
        ...


@runtime_checkable
class HasDiffusion(Protocol):
    """A model with process noise of its own."""

    def diffusion(self, t: Any, state: State, input: Any) -> State:
        """Noise amplitude of each entry of the state, in state units per sqrt(time)."""
        ...


@runtime_checkable
class HasNoisyStep(Protocol):
    """A model whose recursion has its own noise within, such as the exact law of a step."""

    def noisy_step(self, t: Any, state: State, input: Any, dt: Any, dW: State) -> State:
        """The state one `dt` later; `dW` as the state, independent increments of variance `dt`."""
        ...


@runtime_checkable
class HasPrepared(Protocol):
    """A model with work to be done once a run rather than once a step."""

    def prepared(self) -> "Dynamics":
        """An equal model whose step is cheaper."""
        ...


@runtime_checkable
class HasTimeConstants(Protocol):
    """A model whose state leaks away, -x / tau."""

    @property
    def time_constants(self) -> dict[str, Any]:
        """Each time constant by the name of its argument."""
        ...


def fixed_field(**kwargs: Any) -> Any:
    """A field of a model that training leaves alone unless it is asked for by name.

    Initial states and time constants are such fields in the published circuits. They are leaves
    of the model like any other, so they can be vmapped over, differentiated and edited.
    """
    metadata = {**kwargs.pop("metadata", {}), "fixed": True}
    return eqx.field(metadata=metadata, **kwargs)


def is_fixed(field: dataclasses.Field) -> bool:
    """Whether a dataclass field was declared with `fixed_field`."""
    return bool(field.metadata.get("fixed", False))
