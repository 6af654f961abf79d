"""Digits from files: what is read, and every damage named."""

import builtins
import gzip
import hashlib
import struct
import sys

import numpy as np
import pytest

from neurosim.tasks.digit_files import MNIST_CHECKSUMS, read_mnist, sklearn_digits, split_digits

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (5, 28, 28)).astype(np.uint8)
LABELS = np.array([3, 0, 9, 9, 1], np.uint8)
IMAGE_NAME, LABEL_NAME = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


def idx(array):
    """The format, written from its description: magic, big-endian sizes, bytes."""
    magic = struct.pack(">I", 0x00000800 + array.ndim)
    return magic + b"".join(struct.pack(">I", n) for n in array.shape) + array.tobytes()


def write(folder, images=None, labels=None, *, packed=True):
    folder.mkdir(exist_ok=True)
    contents = {
        IMAGE_NAME: idx(IMAGES) if images is None else images,
        LABEL_NAME: idx(LABELS) if labels is None else labels,
    }
    for name, content in contents.items():
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)
    return folder


def write_npz(path, **arrays):
    arrays = {"x_test": IMAGES, "y_test": LABELS, "x_train": IMAGES[:2], "y_train": LABELS[:2]} | (
        arrays
    )
    np.savez(path, **{name: a for name, a in arrays.items() if a is not None})
    return path


@pytest.mark.parametrize("packed", [True, False])
def test_idx_files_are_read(tmp_path, packed):
    images, labels = read_mnist(write(tmp_path / "m", packed=packed), "test", checksums=None)
    assert (images.shape, images.dtype) == ((5, 28, 28), np.float32)
    np.testing.assert_array_equal(images, IMAGES / np.float32(255))
    np.testing.assert_array_equal(labels, LABELS)
    assert labels.dtype == np.int64


def test_npz_files_are_read(tmp_path):
    path = write_npz(tmp_path / "mnist.npz")
    images, labels = read_mnist(path, "test", checksums=None)
    np.testing.assert_array_equal(images, IMAGES / np.float32(255))
    np.testing.assert_array_equal(labels, LABELS)
    assert len(read_mnist(path, checksums=None).images) == 2


def test_sums_are_those_of_the_uncompressed_content(tmp_path):
    sums = {
        name: hashlib.md5(idx(array)).hexdigest()
        for name, array in ((IMAGE_NAME, IMAGES), (LABEL_NAME, LABELS))
    }
    npz = write_npz(tmp_path / "mnist.npz")
    for place in (write(tmp_path / "a"), write(tmp_path / "b", packed=False), npz):
        assert len(read_mnist(place, "test", checksums=sums).labels) == 5
        for name in sums:
            with pytest.raises(ValueError, match=f"{name} is 00.*checksums=None"):
                read_mnist(place, "test", checksums=sums | {name: "00"})
        # By default they are those of the published files, which these are not.
        with pytest.raises(ValueError, match=MNIST_CHECKSUMS[IMAGE_NAME]):
            read_mnist(place, "test")
        # What has no sum is not checked.
        assert len(read_mnist(place, "test", checksums={LABEL_NAME: sums[LABEL_NAME]}).labels) == 5


def test_missing_files_are_named(tmp_path):
    folder = write(tmp_path / "m")
    names = "train-images-idx3-ubyte.gz, train-images-idx3-ubyte, train-labels-idx1-ubyte.gz, "
    with pytest.raises(ValueError, match=f"looked for {names}train-labels-idx1-ubyte"):
        read_mnist(folder, "train", checksums=None)
    (folder / f"{LABEL_NAME}.gz").unlink()
    with pytest.raises(ValueError, match=f"holds no {LABEL_NAME}"):
        read_mnist(folder, "test", checksums=None)
    with pytest.raises(ValueError, match="there is no folder or npz file"):
        read_mnist(tmp_path / "nowhere", "test")


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": idx(IMAGES)[:-1]}, "is truncated: its header announces .*3919"),
        ({"images": idx(IMAGES) + b"0"}, "is too long: its header"),
        ({"images": idx(IMAGES)[:9]}, "truncated: it ends within its header"),
        ({"images": b""}, "must begin with 00000803, got nothing"),
        ({"images": idx(LABELS)}, "must begin with 00000803, got 00000801"),
        # Of 32-bit floats, 0x0d.
        ({"labels": b"\0\0\x0d\1" + idx(LABELS)[4:]}, "must begin with 00000801, got 00000d01"),
        ({"images": idx(IMAGES[:, :14])}, r"28 x 28 pixels, got \(14, 28\)"),
        ({"labels": idx(LABELS[:4])}, "has 5 images, and .* 4 labels"),
        ({"images": idx(IMAGES[:0]), "labels": idx(LABELS[:0])}, "0 images, and .* 0 labels"),
        ({"labels": idx(LABELS + 1)}, "digits from 0 to 9, got 10"),
        # A header whose sizes cannot be true.
        ({"images": b"\0\0\x08\3" + b"\xff" * 12 + b"0"}, "is truncated"),
    ],
)
def test_damaged_files_are_named(tmp_path, changes, message, packed):
    folder = write(tmp_path / "m", **changes, packed=packed)
    with pytest.raises(ValueError, match=message):
        read_mnist(folder, "test", checksums=None)


def test_damaged_compression_is_named(tmp_path):
    folder = write(tmp_path / "m")
    path = folder / f"{IMAGE_NAME}.gz"
    whole = path.read_bytes()
    for content in (whole[:-20], idx(IMAGES), whole[:100] + b"\xff" * 50 + whole[150:], b"\x1f"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{IMAGE_NAME}.gz is truncated or no gzip file"):
            read_mnist(folder, "test", checksums=None)


def test_damaged_npz_files_are_named(tmp_path):
    for arrays, message in (
        ({"y_test": None}, "holds no y_test; x_test, y_test are needed, and there are x_test"),
        ({"x_test": IMAGES / 255}, "x_test in .* must be uint8 with 3 axes, got float64"),
        ({"y_test": LABELS[:, None]}, r"y_test in .* must be uint8 with 1 axes, .*\(5, 1\)"),
        ({"y_test": np.array([3, None])}, "cannot be read as an npz file of digits.*pickle"),
    ):
        path = write_npz(tmp_path / "mnist.npz", **arrays)
        with pytest.raises(ValueError, match=message):
            read_mnist(path, "test", checksums=None)
    whole = write_npz(tmp_path / "mnist.npz").read_bytes()
    np.save(tmp_path / "array.npy", IMAGES)
    for content in (whole[:1000], b"nothing of the kind", (tmp_path / "array.npy").read_bytes()):
        (tmp_path / "bad.npz").write_bytes(content)
        with pytest.raises(ValueError, match="cannot be read as an npz file of digits"):
            read_mnist(tmp_path / "bad.npz", "test", checksums=None)


@pytest.mark.usefixtures("unchecked_signatures")
def test_unknown_split(tmp_path):
    with pytest.raises(ValueError, match="split must be 'train' or 'test', got 'validation'"):
        read_mnist(tmp_path, "validation")


def test_digits_of_scikit_learn():
    images, labels = sklearn_digits()
    assert (images.shape, images.dtype) == ((1797, 8, 8), np.float32)
    assert (images.min(), images.max()) == (0, 1)
    assert np.all(images * 16 == np.round(images * 16))
    # The first ten are the digits in order.
    np.testing.assert_array_equal(labels[:10], np.arange(10))
    np.testing.assert_array_equal(images[0, 0] * 16, [0, 0, 5, 13, 9, 1, 0, 0])


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch):
    for name in [n for n in sys.modules if n.split(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == "sklearn":
            raise ImportError("No module named 'sklearn'")
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ValueError, match="pip install scikit-learn"):
        sklearn_digits()


@pytest.mark.parametrize(
    ("parts", "sizes"),
    [((0.7, 0.2, 0.1), [7, 2, 1]), ((0.25, 0.5), [3, 5]), ((6, 3), [6, 3]), ((1.0,), [10])],
)
def test_parts_share_no_image(parts, sizes):
    images = np.arange(10.0)[:, None, None] * np.ones((1, 2, 3))
    found = split_digits(images, np.arange(10) % 4, parts, seed=73)
    assert [len(part.labels) for part in found] == sizes
    together = np.concatenate([part.images[:, 0, 0] for part in found]).astype(int)
    assert len(np.unique(together)) == len(together)
    # Labels go with their images.
    np.testing.assert_array_equal(np.concatenate([p.labels for p in found]), together % 4)
    again = split_digits(images, np.arange(10) % 4, parts, seed=73)
    np.testing.assert_array_equal(found[0].images, again[0].images)
    other = split_digits(images, np.arange(10) % 4, parts, seed=74)
    assert not np.array_equal(found[0].images, other[0].images)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((), "all shares or all whole numbers"),
        ((5, 0.5), "all shares or all whole numbers"),
        ((0.7, 0.4), "in sum at most 1"),
        ((0.7, -0.1), "must be above 0"),
        ((float("nan"),), "must be above 0"),
        ((0.9, 0.01), "are .9, 0. images: at least 1"),
        ((8, 3), "at most 10 in all"),
        ((8, 0), "at least 1 in each"),
    ],
)
def test_impossible_parts_are_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        split_digits(np.zeros((10, 2, 2)), np.zeros(10, int), parts, seed=0)


def test_images_and_labels_must_fit():
    with pytest.raises(ValueError, match=r"got \(10, 2, 2\) and \(9,\)"):
        split_digits(np.zeros((10, 2, 2)), np.zeros(9, int), (1.0,), seed=0)
