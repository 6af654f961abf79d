"""Drawn digits: every jitter against a drawing by other means."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import ndimage

from neurosim.tasks.glyph_digits import GLYPHS, GlyphDigits, make_glyph_digits

KEY = jax.random.key(0)
STILL = {"rotation": 0, "scale": 0, "shift": 0, "shear": 0, "noise": 0}


def drawn_by_scipy(task, digit, jitter):
    """The forward map of the docstring, inverted numerically; SciPy's spline and filter."""
    turn, grow, slant, up, left, soft = jitter
    angle = np.deg2rad(task.rotation) * turn
    # From (row, column) of the glyph to the image: shear, then turn, then scale, then shift.
    shear = np.array([[1, 0], [task.shear * slant, 1]])
    rotate = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    forward = (1 + task.scale * grow) * task.size / 9 * rotate @ shear
    back = np.linalg.inv(forward)
    to_centre = (task.size - 1) / 2 + task.size * task.shift * np.array([up, left])
    # A margin, since SciPy's constant mode does not fade out beyond the last pixel.
    glyph = np.pad(GLYPHS[digit].astype(float), 2)
    centre = (np.array(glyph.shape) - 1) / 2
    image = ndimage.affine_transform(
        glyph, back, centre - back @ to_centre, (task.size, task.size), order=1
    )
    low, high = (task.size / 28 * width for width in task.blur)
    radius = int(np.ceil(3 * high))
    width = low + (high - low) * (soft + 1) / 2
    image = ndimage.gaussian_filter(image, width, mode="constant", radius=radius)
    return image / image.max()


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize(
    "jitter",
    [np.zeros(6), np.eye(6)[0], np.eye(6)[2], -np.ones(6), [0.3, -0.8, 0.5, -0.4, 0.9, 0.1]],
)
def test_drawing_is_the_affine_map(jitter):
    task = GlyphDigits(size=14)
    for digit in (2, 7):
        image = task._drawn(jnp.asarray(GLYPHS[digit], float), jnp.asarray(jitter, float))
        np.testing.assert_allclose(image, drawn_by_scipy(task, digit, jitter), atol=1e-12)


def test_rotations_and_shifts_have_the_documented_sizes():
    # A ninth of the image is one pixel of the glyph, and three of this image.
    glyph = jnp.asarray(GLYPHS[7], float)
    turned = np.asarray(GlyphDigits(size=27, rotation=90)._drawn(glyph, jnp.eye(6)[0]))
    still = np.asarray(GlyphDigits(size=27)._drawn(glyph, jnp.zeros(6)))
    np.testing.assert_allclose(turned, np.rot90(still), atol=1e-5)
    down = np.asarray(GlyphDigits(size=27, shift=1 / 9)._drawn(glyph, jnp.eye(6)[3]))
    np.testing.assert_allclose(down[3:-3], still[:-6], atol=1e-5)


def test_without_jitter_all_images_of_a_digit_are_one_but_for_noise():
    still = STILL | {"blur": (0.1, 0.1)}
    images, labels = (np.asarray(x) for x in make_glyph_digits(400, 18, key=KEY, **still))
    assert set(labels.tolist()) == set(range(10))
    for digit in range(10):
        mine = images[labels == digit]
        assert np.all(mine == mine[0])
        # Ink where the glyph has ink: its pixels are two of the image's wide, margin included.
        blocks = mine[0].reshape(9, 2, 9, 2).mean((1, 3))[1:-1, 2:-2]
        assert blocks[GLYPHS[digit] == 1].min() > blocks[GLYPHS[digit] == 0].max()
    assert images.max() == pytest.approx(1)
    still["noise"] = 0.1
    noisy, same = (np.asarray(x) for x in make_glyph_digits(400, 18, key=KEY, **still))
    np.testing.assert_array_equal(labels, same)
    inside = (images > 0.4) & (images < 0.6)
    assert (noisy - images)[inside].std() == pytest.approx(0.1, rel=0.1)
    # Where the image is 0 half of the noise is cut off.
    assert np.mean(noisy[images == 0] == 0) == pytest.approx(0.5, abs=0.02)


def test_jitters_have_the_documented_ranges():
    images, labels = (np.asarray(x) for x in make_glyph_digits(3000, key=KEY))
    assert images.shape == (3000, 14, 14)
    assert images.dtype == np.float32
    assert (images.min(), images.max()) == (0, 1)
    counts = np.bincount(labels, minlength=10)
    assert np.abs(counts - 300).max() < 5 * np.sqrt(270)
    # With one jitter alone centres of mass tell shifts, uniform up to 12 % of 14 pixels.
    only = STILL | {"shift": 0.12}
    moved, labels = (np.asarray(x) for x in make_glyph_digits(2000, key=KEY, **only, blur=(1, 1)))
    ones = moved[labels == 8]
    place = (ones * np.arange(14)[:, None]).sum((1, 2)) / ones.sum((1, 2))
    spread = place - place.mean()
    assert np.abs(spread).max() < 1.05 * 0.12 * 14
    assert spread.std() == pytest.approx(0.12 * 14 / np.sqrt(3), rel=0.15)


def test_task_draws_new_images_in_every_batch():
    task = GlyphDigits(size=9, present="rows", hold_steps=2)
    assert (task.n_inputs, task.n_outputs, task.n_steps) == (9, 10, 18)
    trials = task.sample(KEY, 5)
    images, labels = make_glyph_digits(5, 9, key=KEY)
    np.testing.assert_allclose(trials.inputs[:, ::2], images, atol=1e-6)
    np.testing.assert_array_equal(trials.inputs[:, ::2], trials.inputs[:, 1::2])
    np.testing.assert_array_equal(trials.info["labels"], labels)
    np.testing.assert_array_equal(trials.targets[:, -1].argmax(1), labels)
    assert trials.targets.sum() == 5
    assert trials.mask.sum() == 50
    assert not np.array_equal(trials.inputs, task.sample(jax.random.key(1), 5).inputs)
    # A trial does not change when the batch grows.
    many = task.sample(KEY, 37)
    np.testing.assert_array_equal(trials.inputs, many.inputs[:5])
    np.testing.assert_array_equal(trials.targets, many.targets[:5])


def test_double_precision():
    with jax.enable_x64(True):
        trials = GlyphDigits(size=7).sample(KEY, 2)
        assert trials.inputs.dtype == trials.targets.dtype == trials.mask.dtype == jnp.float64


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dt": 0}, "dt must be"),
        ({"size": 6}, "size must be at least 7"),
        ({"rotation": -1}, "rotation must be from 0 to 180"),
        ({"scale": 1.0}, "scale must be from 0 to 0.9"),
        ({"shift": 0.6}, "shift must be from 0 to 0.5"),
        ({"shear": float("nan")}, "shear must be from 0"),
        ({"noise": -0.1}, "noise must be finite and not negative"),
        ({"blur": (0, 1)}, "blur must be two numbers"),
        ({"blur": (2, 1)}, "blur must be two numbers"),
        ({"blur": 1.0}, "blur must be two numbers"),
        ({"present": "columns"}, "present must be one of 'image', 'rows', 'pixels'"),
        ({"hold_steps": 0}, "hold_steps must be at least 1"),
        ({"permutation_seed": -1}, "permutation_seed must not be negative"),
    ],
)
@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_fields_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        GlyphDigits(**fields)


def test_bad_numbers_of_images():
    with pytest.raises(ValueError, match="n must be at least 1"):
        make_glyph_digits(0, key=KEY)
