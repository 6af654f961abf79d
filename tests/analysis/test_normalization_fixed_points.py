"""All fixed points in the plane, against known circuits, the flow and the roots of the quartic."""

import jax
import numpy as np
import pytest

from neurosim.analysis.normalization_fixed_points import fixed_points_2d

COMMON = {"w": 1.0, "b": 0.5, "tau_y": 0.002, "tau_a": 0.002}
BISTABLE = COMMON | {"w_r": 2.0, "b0": 0.5, "sigma": 0.1}


def residual(found, z, *, w, w_r, b, b0, sigma, rectify="none", **_):
    y, a = found.y, found.a
    active = y if rectify == "none" else np.maximum(y, 0)
    drive = {"none": w_r * y, "inner": w_r * np.maximum(y, 0), "outer": np.maximum(w_r * y, 0)}
    dy = -y + b * z + (1 - np.sqrt(a)) * drive[rectify]
    da = -1 + (b0 * sigma) ** 2 / a + w * active**2
    return np.max(np.abs([dy, da]), initial=0)


def of_quartic(z, *, w, w_r, b, b0, sigma, **_):
    """Roots sqrt(a) above 0, as the publication has them."""
    c = (b0 * sigma) ** 2
    coefficients = [
        w_r**2, 2 * w_r * (1 - w_r), (1 - w_r) ** 2 - w * (b * z) ** 2 - c * w_r**2,
        -2 * w_r * (1 - w_r) * c, -((1 - w_r) ** 2) * c,
    ]  # fmt: skip
    roots = np.roots(coefficients)
    return np.sort(roots[(np.abs(roots.imag) < 1e-7) & (roots.real > 1e-9)].real)


def test_one_point_below_unit_recurrence():
    found = fixed_points_2d(1.0, **COMMON, w_r=0.5, b0=0.5, sigma=0.1)
    np.testing.assert_allclose(found.y, [0.897970691393], rtol=1e-10)
    np.testing.assert_allclose(found.a, [0.012909979815], rtol=1e-10)
    value = -187.614920863 + 56.652296139j
    np.testing.assert_allclose(found.eigenvalues, [[value, np.conj(value)]], rtol=1e-9)
    assert found.types == ("stable focus",)


@pytest.mark.parametrize("sign", [1, -1])
def test_three_points_and_their_types(sign):
    found = fixed_points_2d(sign, **BISTABLE)
    np.testing.assert_allclose(
        sign * found.y, [0.997778605094, -0.978885554152, -0.569235330689], rtol=1e-10
    )
    np.testing.assert_allclose(
        found.a, [0.563335187470, 0.059832843494, 0.003698382754], rtol=1e-10
    )
    expected = np.array([
        [-126.387756364 + 598.493912916j, -126.387756364 - 598.493912916j],
        [117.250467276 + 313.225676967j, 117.250467276 - 313.225676967j],
        [426.294054265, -325.093953582],
    ])  # fmt: skip
    np.testing.assert_allclose(found.eigenvalues, expected, rtol=1e-9)
    assert found.stable.tolist() == [True, False, False]
    assert found.types == ("stable focus", "unstable focus", "saddle")
    np.testing.assert_allclose(found.trace, expected.sum(axis=1).real, rtol=1e-8)
    np.testing.assert_allclose(found.determinant, expected.prod(axis=1).real, rtol=1e-8)


def test_strong_noise_floor_leaves_one_point():
    found = fixed_points_2d(1.0, **COMMON, w_r=2.0, b0=1.0, sigma=1.0)
    np.testing.assert_allclose(found.y, [0.416647517576], rtol=1e-10)
    np.testing.assert_allclose(found.a, [1.210060667869], rtol=1e-10)


def test_slow_y_makes_a_second_point_stable():
    found = fixed_points_2d(1.0, **BISTABLE | {"tau_y": 0.04})
    assert found.stable.tolist() == [True, True, False]
    np.testing.assert_allclose(
        found.eigenvalues[:2, 0], [-7.3734 + 136.5799j, -4.0610 + 74.6754j], rtol=1e-5
    )


def test_no_stable_point_with_negative_recurrence():
    given = {"w": 1, "b": 1, "b0": 1, "sigma": 1, "tau_y": 1, "tau_a": 1, "w_r": -1}
    found = fixed_points_2d(1.0, **given)
    np.testing.assert_allclose(found.y, [-0.9450268191], rtol=1e-9)
    np.testing.assert_allclose(found.a, [9.3524100320], rtol=1e-9)
    np.testing.assert_allclose(found.eigenvalues, [[2.2279189919, -1.2766722690]], rtol=1e-8)
    assert found.types == ("saddle",)
    for taus in ({"tau_y": 100.0}, {"tau_a": 100.0}):
        assert not fixed_points_2d(1.0, **given | taus).stable.any()
    # Below a noise floor there is one again.
    assert not fixed_points_2d(1.0, **given | {"sigma": 0.4501964645}).stable.any()
    assert fixed_points_2d(1.0, **given | {"sigma": 0.4501964643}).stable.any()


@pytest.mark.parametrize("rectify", ["inner", "outer"])
def test_rectified_circuit_with_negative_drive(rectify):
    found = fixed_points_2d(-1.0, **BISTABLE, rectify=rectify)
    np.testing.assert_allclose(found.y, [-0.5, 0.978885554152, 0.569235330689], rtol=1e-10)
    np.testing.assert_allclose(found.a, [0.0025, 0.059832843494, 0.003698382754], rtol=1e-10)
    np.testing.assert_allclose(found.eigenvalues[0], [-500, -500])
    opposite = fixed_points_2d(1.0, **BISTABLE)
    np.testing.assert_allclose(found.eigenvalues[1:], opposite.eigenvalues[1:], rtol=1e-9)
    assert fixed_points_2d(1.0, **BISTABLE, rectify=rectify).types == ("stable focus",)


@pytest.mark.parametrize("rectify", ["none", "inner", "outer"])
def test_every_point_is_one_and_none_is_missed(rectify):
    rng = np.random.default_rng(0)
    counts = set()
    for _ in range(300):
        given = {name: float(rng.uniform(0.1, 1.5)) for name in ("w", "b", "b0", "sigma")}
        given |= {"w_r": float(rng.uniform(-3, 4)), "tau_y": 1.0, "tau_a": 2.0}
        given["sigma"] /= 5
        z = float(rng.normal())
        found = fixed_points_2d(z, **given, rectify=rectify)
        assert residual(found, z, **given, rectify=rectify) < 1e-11
        counts.add(len(found.y))
        # All have sqrt(a) above b0 sigma, or at it where the pool is silent.
        assert (np.sqrt(found.a) >= given["b0"] * given["sigma"] * (1 - 1e-12)).all()
        if rectify == "none":
            np.testing.assert_allclose(np.sort(found.a) ** 0.5, of_quartic(z, **given), rtol=1e-5)
        if given["w_r"] > 0:
            own = np.sign(found.y) == np.sign(z)
            assert own.sum() == 1
            assert found.stable[own].all()
    assert counts == {1, 3} if rectify == "none" else {1, 3} <= counts


def test_parameters_over_decades():
    """To rounding, relative to the terms of each equation; the point of z's sign is stable."""
    rng = np.random.default_rng(5)
    for _ in range(500):
        names = ("w", "w_r", "b", "b0", "sigma", "tau_y", "tau_a")
        given = {name: float(10 ** rng.uniform(-3, 3)) for name in names}
        z = float(rng.choice([-1, 1]) * 10 ** rng.uniform(-4, 3))
        found = fixed_points_2d(z, **given)
        y, root, w_r = found.y, np.sqrt(found.a), given["w_r"]
        terms = np.stack([-y, np.full_like(y, given["b"] * z), w_r * y, -w_r * root * y])
        assert (np.abs(terms.sum(axis=0)) <= 1e-12 * np.abs(terms).sum(axis=0)).all()
        np.testing.assert_allclose(
            (given["b0"] * given["sigma"]) ** 2 / found.a + given["w"] * y**2, 1, rtol=1e-9
        )
        own = np.sign(y) == np.sign(z)
        assert own.sum() == 1
        assert found.stable[own].all()


def test_eigenvalues_are_those_of_the_flow():
    h = 1e-6
    for z, rectify in ((1.0, "none"), (-1.0, "inner")):
        found = fixed_points_2d(z, **BISTABLE, rectify=rectify)

        def flow(x, z=z, rectify=rectify):
            y, a = x
            active = max(y, 0) if rectify == "inner" else y
            dy = (-y + 0.5 * z + (1 - np.sqrt(a)) * 2 * active) / 0.002
            return np.array([dy, (-a + 0.0025 + active**2 * a) / 0.002])

        for at, values in zip(np.stack([found.y, found.a], 1), found.eigenvalues):
            steps = h * np.eye(2)
            J = np.stack([(flow(at + s) - flow(at - s)) / (2 * h) for s in steps], axis=1)
            np.testing.assert_allclose(np.trace(J), values.sum().real, rtol=1e-5)
            np.testing.assert_allclose(np.linalg.det(J), values.prod().real, rtol=1e-5)


def test_circuit_without_input():
    """At rest, or held at either sign where recurrence outweighs the leak."""
    found = fixed_points_2d(0.0, **BISTABLE)
    np.testing.assert_allclose(found.a, [0.25, 0.25, 0.0025])
    np.testing.assert_allclose(np.abs(found.y), [np.sqrt(0.99), np.sqrt(0.99), 0])
    assert found.types == ("stable focus", "stable focus", "saddle")
    quiet = fixed_points_2d(0.0, **BISTABLE | {"w_r": 1.0})
    assert quiet.y.tolist() == [0]
    assert quiet.types == ("stable node",)
    # Rectified, it falls back from below 0, and is carried off from above.
    rectified = fixed_points_2d(0.0, **BISTABLE, rectify="inner")
    np.testing.assert_allclose(rectified.y, [np.sqrt(0.99), 0])
    assert rectified.stable.tolist() == [True, False]


def test_without_normalization_or_recurrence():
    found = fixed_points_2d(1.0, **BISTABLE | {"w": 0.0})
    np.testing.assert_allclose(found.y, [0.5 / (1 - 2 + 2 * 0.05)])
    np.testing.assert_allclose(found.a, [0.0025])
    alone = fixed_points_2d(1.0, **BISTABLE | {"w_r": 0.0})
    np.testing.assert_allclose((alone.y[0], alone.a[0]), (0.5, 0.0025 / 0.75))
    assert len(fixed_points_2d(2.0, **BISTABLE | {"w_r": 0.0}).y) == 0
    with pytest.raises(ValueError, match="every y is a fixed point"):
        fixed_points_2d(0.0, **BISTABLE | {"w": 0.0, "w_r": 2.0, "b0": 0.5, "sigma": 1.0})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"w": -1.0}, "w must not be negative"),
        ({"tau_y": 0.0}, "tau_y must be positive"),
        ({"sigma": 0.0}, "sigma must be positive"),
        ({"sigma": 1e-200}, "leaves the range of numbers"),
        ({"z": np.nan}, "z must be finite"),
        ({"z": np.ones(2)}, r"z must be one number, got shape \(2,\)"),
        ({"rectify": True}, "rectify must be 'none'"),
    ],
)
def test_bad_input(change, message, unchecked_signatures):
    given = {"z": 1.0} | BISTABLE | change
    with pytest.raises(ValueError, match=message):
        fixed_points_2d(given.pop("z"), **given)


def test_values_must_be_known():
    with pytest.raises(TypeError, match="fixed_points_2d is computed in NumPy"):
        jax.jit(lambda z: fixed_points_2d(z, **BISTABLE).y)(1.0)
