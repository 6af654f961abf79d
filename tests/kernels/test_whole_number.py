"""Whole numbers: what is one, and what the refusal of others says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.kernels import whole_number


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3), np.array(3), jnp.asarray(3)])
def test_integers_of_any_kind_are_one_number(value):
    number = whole_number(value, "n")
    assert number == 3
    assert type(number) is int


def test_large_and_negative_numbers_are_kept():
    assert whole_number(10**30, "n") == 10**30
    assert whole_number(-3, "n") == -3
    assert whole_number(True, "n", least=1) == 1


@pytest.mark.parametrize(
    "value", [2.5, np.nan, np.inf, "3", None, [3], np.array([3, 4]), np.float32(0.5)]
)
def test_other_values_are_refused(value):
    with pytest.raises(ValueError, match=r"^n_folds must be a whole number, got ") as refusal:
        whole_number(value, "n_folds")
    assert str(refusal.value).endswith(f"got {value!r}.")


@pytest.mark.parametrize("value", [2.0, np.float32(2)])
def test_whole_floats_are_refused_and_told_why(value):
    with pytest.raises(ValueError, match=r"n must be a whole number, given as an integer, got .*2"):
        whole_number(value, "n")


def test_a_traced_integer_is_refused():
    with pytest.raises(ValueError, match=r"n must be a whole number, got .*[Tt]race"):
        jax.jit(lambda n: whole_number(n, "n"))(3)


def test_the_least_is_taken_and_less_is_not():
    for least in (-1, 0, 1, 4):
        assert whole_number(least, "n", least=least) == least
    with pytest.raises(ValueError, match=r"^n must be at least 4, got 3\.$"):
        whole_number(3, "n", least=4)
    with pytest.raises(ValueError, match=r"^n must not be negative, got -1\.$"):
        whole_number(np.int8(-1), "n", least=0)
