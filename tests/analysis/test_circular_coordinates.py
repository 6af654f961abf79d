"""Angles recovered from activity against those it was made of."""

import itertools

import numpy as np
import pytest
from scikit_learn_checks import assert_passes_the_checks_of_scikit_learn

from neurosim.analysis.circular_classes import circular_classes
from neurosim.analysis.circular_coordinates import CircularCoordinates
from neurosim.analysis.lattice_spectrum import lattice_spectrum
from neurosim.analysis.rips_persistence import rips_persistence
from neurosim.kernels import grid_lattice_vectors, ideal_grid_module

RNG = np.random.default_rng(0)
CENTRES = (np.arange(40) + 0.5) / 40
POSITIONS = np.stack(np.meshgrid(CENTRES, CENTRES, indexing="ij"), axis=-1).reshape(-1, 2)
N_COMPONENTS = {"hexagonal": 6, "square": 4}
P = 47


def module_and_phases(lattice, noise):
    rates = ideal_grid_module(POSITIONS, n_per_side=6, spacing=0.3, lattice=lattice).T
    vectors = grid_lattice_vectors(spacing=0.3, lattice=lattice)
    phases = 2 * np.pi * POSITIONS @ np.linalg.inv(vectors)
    return rates + noise * RNG.normal(size=rates.shape), phases


def best_combination(angles, phases):
    """Whole numbers that take angles to phases, up to an origin; the mean resultant of each."""
    rows, resultants = [], []
    for phase in phases.T:
        row, resultant = max(
            (
                (row, abs(np.mean(np.exp(1j * (phase - angles @ row)))))
                for row in itertools.product(range(-2, 3), repeat=2)
            ),
            key=lambda pair: pair[1],
        )
        rows.append(row)
        resultants.append(resultant)
    return np.array(rows), np.array(resultants)


@pytest.fixture(scope="module", params=["hexagonal", "square"])
def fitted(request):
    lattice = request.param
    rates, phases = module_and_phases(lattice, 0.1)
    coordinates = CircularCoordinates(n_landmarks=120, n_components=N_COMPONENTS[lattice])
    return lattice, rates, phases, coordinates.fit(rates)


def test_phases_of_a_noisy_module_are_recovered(fitted):
    _, rates, phases, coordinates = fitted
    decoded = coordinates.decode(rates)
    assert decoded.shape == (1600, 2)
    assert (decoded >= 0).all()
    assert (decoded < 2 * np.pi).all()
    combination, resultant = best_combination(decoded, phases)
    assert abs(round(np.linalg.det(combination))) == 1
    assert resultant.min() >= 0.98
    at_landmarks = best_combination(coordinates.angles_.T, phases[coordinates.landmarks_])
    np.testing.assert_array_equal(at_landmarks[0], combination)
    assert at_landmarks[1].min() >= 0.98


def test_the_lattice_is_told_from_the_energies(fitted):
    lattice, _, _, coordinates = fitted
    spectrum = lattice_spectrum(coordinates.gram_)
    assert spectrum.lattice == lattice
    expected = {"hexagonal": [1, 1, 1, 3, 3, 3, 4], "square": [1, 1, 2, 2, 4, 4, 5, 5]}[lattice]
    np.testing.assert_allclose(spectrum.energies[: len(expected)], expected, rtol=0.1)
    assert spectrum.angle == pytest.approx({"hexagonal": 60, "square": 90}[lattice], abs=2.5)


def test_new_activity_is_decoded_in_its_layout(fitted):
    lattice, _, phases, coordinates = fitted
    fresh, _ = module_and_phases(lattice, 0.1)
    decoded = coordinates.transform(fresh.reshape(40, 40, 36))
    assert decoded.shape == (40, 40, 2)
    assert best_combination(decoded.reshape(-1, 2), phases)[1].min() >= 0.98
    few = coordinates.decode([fresh[:7], fresh[7:9]])
    assert [len(trial) for trial in few] == [7, 2]
    np.testing.assert_allclose(few[0], decoded.reshape(-1, 2)[:7])
    # Activity that is the mean tells nothing.
    assert np.isnan(coordinates.decode(coordinates.mean_[None])).all()
    with pytest.raises(ValueError, match="X has 5 features"):
        coordinates.decode(fresh[:, :5])


def test_a_representative_that_is_half_a_cocycle_of_whole_numbers_is_put_right(fitted):
    _, _, phases, coordinates = fitted
    persistence = coordinates.persistence_
    plain = circular_classes(persistence)
    # Half of the cocycle, and of a coboundary: another representative, which is as good modulo P.
    n, half = len(persistence.landmarks), pow(2, -1, P)
    steps = RNG.integers(-1, 2, n)
    first, second = np.triu_indices(n, 1)
    halves = []
    for cocycle in persistence.cocycles[1][:2]:
        values = steps[None, :] - steps[:, None]
        np.add.at(values, (cocycle[:, 0], cocycle[:, 1]), cocycle[:, 2])
        np.add.at(values, (cocycle[:, 1], cocycle[:, 0]), -cocycle[:, 2])
        values = values[first, second] * half % P
        halves.append(np.column_stack([first, second, values]))
    halved = persistence._replace(cocycles=[persistence.cocycles[0], halves])
    result = circular_classes(halved)
    np.testing.assert_array_equal(result.combinations % P, 2 * plain.combinations % P)
    np.testing.assert_allclose(result.gram, plain.gram)
    turned = np.exp(1j * (result.angles - plain.angles))
    np.testing.assert_allclose(turned, np.tile(turned[:, :1], (1, n)), atol=1e-9)
    # Lifted as they are, they are no cocycles: the angle that follows has nothing to do with
    # the phases.
    scale = plain.threshold
    form = np.zeros((n, n))
    for i, j, value in halves[0]:
        lift = value - P if value > P // 2 else value
        form[i, j], form[j, i] = lift, -lift
    joined = (persistence.distances <= scale) & ~np.eye(n, dtype=bool)
    form *= joined
    i, j, k = np.nonzero(joined[:, :, None] & joined & joined[:, None])
    assert np.mean(form[i, j] + form[j, k] - form[i, k] != 0) > 0.01
    laplacian = np.diag(joined.sum(axis=1)) - joined
    naive = 2 * np.pi * np.linalg.lstsq(laplacian, form.sum(axis=0), rcond=None)[0]
    truth = phases[persistence.landmarks]
    best = max(
        abs(np.mean(np.exp(1j * (truth @ row - naive))))
        for row in itertools.product(range(-2, 3), repeat=2)
        if any(row)
    )
    assert best < 0.7


def test_representatives_without_a_cocycle_of_whole_numbers_are_refused(fitted):
    """A fifth of one, which no multiple that is tried puts right."""
    _, _, _, coordinates = fitted
    persistence = coordinates.persistence_
    n = len(persistence.landmarks)
    first, second = np.triu_indices(n, 1)
    cocycles = [np.zeros((len(first), 3), int) for _ in range(2)]
    for cocycle, given in zip(cocycles, persistence.cocycles[1], strict=False):
        steps = RNG.integers(-3, 4, n)
        values = steps[None, :] - steps[:, None]
        np.add.at(values, (given[:, 0], given[:, 1]), given[:, 2])
        np.add.at(values, (given[:, 1], given[:, 0]), -given[:, 2])
        cocycle[:] = np.column_stack([first, second, values[first, second] * pow(5, -1, P) % P])
    with pytest.raises(ValueError, match=r"no combination of the 2 longest loop\(s\) is a cocycle"):
        circular_classes(persistence._replace(cocycles=[[], cocycles]))


def test_a_torus_far_longer_than_wide_has_two_angles_too():
    """Twice round the thick way goes less far than once round the thin way."""
    wide, long = np.meshgrid(np.arange(8) / 8, np.arange(18) / 18, indexing="ij")
    turn = 2j * np.pi
    circles = np.stack([np.exp(turn * wide), 2.25 * np.exp(turn * long)], axis=-1).reshape(-1, 2)
    points = np.concatenate([circles.real, circles.imag], axis=1)
    persistence = rips_persistence(
        points, max_dim=1, n_landmarks=None, coefficient=P, cocycles=True
    )
    result = circular_classes(persistence, position=0.5)
    combination, resultant = best_combination(result.angles.T, np.angle(circles))
    np.testing.assert_array_equal(np.abs(combination), [[0, 1], [1, 0]])
    np.testing.assert_allclose(resultant, 1)
    spectrum = lattice_spectrum(result.gram)
    assert spectrum.lattice == "neither"
    assert spectrum.ratio == pytest.approx(2.25, rel=0.05)


def test_head_direction_is_the_angle_of_a_ring():
    heading = RNG.uniform(0, 2 * np.pi, 600)
    preferred = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    rates = np.exp(3 * np.cos(heading[:, None] - preferred) - 3) + 0.1 * RNG.normal(size=(600, 20))
    # A silent unit weighs nothing, and one that fires much no more than others.
    with_silent = np.column_stack([rates, np.zeros(600)])
    unequal = rates * np.geomspace(1, 1000, 20)
    for X, z_score in ((with_silent, False), (unequal, True)):
        coordinates = CircularCoordinates(1, n_landmarks=80, z_score=z_score)
        decoded = coordinates.fit_transform(X)[:, 0]
        resultant = [abs(np.mean(np.exp(1j * (decoded - sense * heading)))) for sense in (1, -1)]
        assert max(resultant) > 0.98
        assert (coordinates.weights_[..., 20:] == 0).all()


def test_angles_of_a_polygon_are_evenly_spaced():
    angle = 2 * np.pi * np.arange(30) / 30
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    persistence = rips_persistence(points, max_dim=1, coefficient=P, cocycles=True)
    result = circular_classes(persistence, n_circles=1, position=0.3)
    turn = np.angle(np.exp(1j * np.diff(result.angles[0])))
    np.testing.assert_allclose(np.abs(turn), 2 * np.pi / 30, atol=1e-9)
    birth, death = persistence.diagrams[1][0]
    assert result.threshold == pytest.approx(birth + 0.3 * (death - birth))
    # With edges of up to q steps, an edge of s steps goes s/30 of the way round.
    reach = int(np.floor(np.arcsin(result.threshold / 2) * 30 / np.pi))
    energy = 30 * sum((s / 30) ** 2 for s in range(1, reach + 1))
    np.testing.assert_allclose(result.gram, [[energy]])


def test_it_is_an_estimator_to_scikit_learn():
    no_loop = "there is no loop in the data of this check"
    assert_passes_the_checks_of_scikit_learn(
        CircularCoordinates(1, n_components=None, n_neighbours=1),
        but_for={
            "check_dont_overwrite_parameters": no_loop,
            "check_fit2d_1feature": no_loop,
            "check_fit2d_predict1d": no_loop,
            "check_methods_sample_order_invariance": no_loop,
            "check_methods_subset_invariance": no_loop,
        },
    )


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ({"cocycles": False}, {}, "cocycles left out"),
        ({"coefficient": 2}, {}, "got coefficient=2"),
        ({"max_dim": 0}, {}, "need rips_persistence"),
        ({}, {"n_circles": 2}, "there are 1 loops, fewer than the 2"),
        ({}, {"n_circles": 3}, "n_circles must be 1 or 2"),
        ({}, {"position": 1.0}, "position must lie between 0 and 1"),
    ],
)
def test_bad_input_is_refused(settings, options, message):
    angle = 2 * np.pi * np.arange(12) / 12
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    settings = {"max_dim": 1, "coefficient": P, "cocycles": True} | settings
    persistence = rips_persistence(points, **settings)
    with pytest.raises(ValueError, match=message):
        circular_classes(persistence, **({"n_circles": 1} | options))


def test_loops_that_do_not_exist_together_are_refused():
    angle = 2 * np.pi * np.arange(12) / 12
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    persistence = rips_persistence(
        np.concatenate([ring, 10 * ring + 50]), max_dim=1, coefficient=P, cocycles=True
    )
    with pytest.raises(ValueError, match="do not exist at one scale"):
        circular_classes(persistence)
