"""Images of handwritten digits from files that are on the disk already; nothing is downloaded."""

import gzip
import hashlib
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

#: MD5 sums of the four files of MNIST as they were published, uncompressed. Compressing them again
#: changes the sum of what is on the disk, and not these.
MNIST_CHECKSUMS: Mapping[str, str] = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}

_NAMES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
_KEYS = {"train": ("x_train", "y_train"), "test": ("x_test", "y_test")}
_UNSIGNED_BYTE = 8
_SIDE = 28


class DigitImages(NamedTuple):
    """Images `(n, height, width)`, float32 from 0 (background) to 1 (ink), and labels `(n,)`."""

    images: np.ndarray
    labels: np.ndarray


def read_mnist(
    path: str | os.PathLike[str],
    split: Literal["train", "test"] = "train",
    *,
    checksums: Mapping[str, str] | None = MNIST_CHECKSUMS,
) -> DigitImages:
    """Read one half of MNIST from its idx files, or from an npz file.

    ```python
    images, labels = read_mnist("~/data/mnist", "test")
    ```

    **Arguments:**

    - `path`: a folder with the idx files, compressed (`t10k-images-idx3-ubyte.gz`) or not; or an
        npz file with `x_train`, `y_train`, `x_test` and `y_test`, as Keras has it.
    - `split`: `"train"`, 60,000 images as published, or `"test"`, 10,000.
    - `checksums`: MD5 sums, by the name of the idx file without `.gz`, of what it holds when it
        is uncompressed; for an npz file, of the idx file of the same content. Those of MNIST by
        default; a name that is not in it is not checked, and `None` checks nothing.

    **Returns:** the images, `(n, 28, 28)`, and the labels, int64 from 0 to 9.

    **Raises:** `ValueError` for a file that is not there, with the names that were looked for; one
    that is damaged, truncated or of another format, or whose sum is another; images and labels of
    unequal numbers; and labels that are no digits.

    **Reference:** LeCun, Bottou, Bengio & Haffner (1998), Gradient-based learning applied to
    document recognition, Proceedings of the IEEE 86.
    """
    if split not in _NAMES:
        raise ValueError(f"split must be 'train' or 'test', got {split!r}.")
    folder = Path(path).expanduser()
    if folder.is_dir():
        contents = [_idx_content(folder, name, split) for name in _NAMES[split]]
    elif folder.is_file():
        contents = _npz_contents(folder, split)
    else:
        raise ValueError(f"there is no folder or npz file {folder}.")
    for name, (where, content) in zip(_NAMES[split], contents):
        wanted = None if checksums is None else checksums.get(name)
        if wanted is not None and _md5(content) != wanted.lower():
            raise ValueError(
                f"the content of {where} has the MD5 sum {_md5(content)}, and that of {name} is "
                f"{wanted}: another file is needed, or checksums=None to read this one as it is."
            )
    (image_place, images), (label_place, labels) = contents
    pixels = _array(images, 3, image_place)
    digits = _array(labels, 1, label_place)
    if pixels.shape[1:] != (_SIDE, _SIDE):
        raise ValueError(
            f"{image_place} must hold images of 28 x 28 pixels, got {pixels.shape[1:]}."
        )
    if len(pixels) != len(digits) or len(pixels) == 0:
        raise ValueError(
            f"{image_place} has {len(pixels)} images, and {label_place} {len(digits)} labels: "
            "as many of both are needed, and at least one."
        )
    if digits.max() > 9:
        raise ValueError(f"{label_place} must hold digits from 0 to 9, got {digits.max()}.")
    return DigitImages(pixels.astype(np.float32) / 255, digits.astype(np.int64))


def _idx_content(folder: Path, name: str, split: str) -> tuple[str, bytes]:
    """Where a file was found, and its bytes, uncompressed."""
    for candidate in (folder / f"{name}.gz", folder / name):
        if candidate.is_file():
            break
    else:
        looked_for = [f"{n}{end}" for n in _NAMES[split] for end in (".gz", "")]
        raise ValueError(f"{folder} holds no {name}; looked for {', '.join(looked_for)}.")
    if candidate.suffix != ".gz":
        return str(candidate), candidate.read_bytes()
    try:
        with gzip.open(candidate) as stream:
            return str(candidate), stream.read()
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(
            f"{candidate} is truncated or no gzip file ({error}): a whole copy is needed."
        ) from error


def _npz_contents(path: Path, split: str) -> list[tuple[str, bytes]]:
    """What the idx files of the same images and labels hold."""
    try:
        # Opened here, since NumPy leaves a damaged file open.
        with path.open("rb") as stream:
            stored = np.load(stream, allow_pickle=False)
            if not isinstance(stored, np.lib.npyio.NpzFile):
                raise ValueError("it holds one array and no names")
            missing = [key for key in _KEYS[split] if key not in stored]
            if missing:
                raise ValueError(
                    f"it holds no {missing[0]}; {', '.join(_KEYS[split])} are needed, and there "
                    f"are {', '.join(stored) or 'no arrays'}"
                )
            arrays = [stored[key] for key in _KEYS[split]]
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} cannot be read as an npz file of digits: {error}.") from error
    found = []
    for key, array, ndim in zip(_KEYS[split], arrays, (3, 1)):
        if array.dtype != np.uint8 or array.ndim != ndim:
            raise ValueError(
                f"{key} in {path} must be uint8 with {ndim} axes, got {array.dtype} and shape "
                f"{array.shape}."
            )
        header = struct.pack(f">BBBB{ndim}I", 0, 0, _UNSIGNED_BYTE, ndim, *array.shape)
        found.append((f"{path}, {key}", header + array.tobytes()))
    return found


def _array(content: bytes, ndim: int, where: str) -> np.ndarray:
    """The array of an idx file: magic number, sizes as big-endian integers, then the values."""
    start = 4 + 4 * ndim
    magic = bytes((0, 0, _UNSIGNED_BYTE, ndim))
    if content[:4] != magic:
        raise ValueError(
            f"{where} is no idx file of unsigned bytes with {ndim} axes: it must begin with "
            f"{magic.hex()}, got {content[:4].hex() or 'nothing'}."
        )
    if len(content) < start:
        raise ValueError(f"{where} is truncated: it ends within its header.")
    shape = struct.unpack(f">{ndim}I", content[4:start])
    # Python's integers: those of a damaged header may be too large for others.
    size = 1
    for length in shape:
        size *= length
    if len(content) - start != size:
        state = "is truncated" if len(content) - start < size else "is too long"
        raise ValueError(
            f"{where} {state}: its header announces {shape}, {size} bytes, and there are "
            f"{len(content) - start}."
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def sklearn_digits() -> DigitImages:
    """The 1,797 digits of 8 x 8 pixels that come with scikit-learn.

    **Returns:** the images, `(1797, 8, 8)`, and the labels, int64.

    **Raises:** `ValueError` if scikit-learn is not installed.

    **Reference:** Alpaydin & Kaynak (1998), Optical recognition of handwritten digits, UCI Machine
    Learning Repository.
    """
    try:
        from sklearn.datasets import load_digits  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ValueError(
            f"these digits come with scikit-learn, which could not be imported ({error}): "
            "pip install scikit-learn."
        ) from error
    found: Any = load_digits()
    return DigitImages((found.images / 16).astype(np.float32), found.target.astype(np.int64))


def split_digits(
    images: Any, labels: Any, parts: Sequence[float | int], *, seed: int
) -> tuple[DigitImages, ...]:
    """Split images at random into parts that share none, such as training and test.

    ```python
    train, test = split_digits(*sklearn_digits(), (0.75, 0.25), seed=73)
    ```

    **Arguments:**

    - `images`: `(n, height, width)`. `labels`: `(n,)`.
    - `parts`: shares of the images, above 0 and in sum at most 1; or numbers of images, integers.
        `(1.0,)` is all of them in another order, `(1,)` is one image.
    - `seed`: of the order.

    **Returns:** one `DigitImages` for each part.

    **Raises:** `ValueError` for arrays that do not fit, for no parts or shares and numbers mixed,
    for an empty part, and for parts that are more than there is.
    """
    pixels, digits = np.asarray(images), np.asarray(labels)
    if pixels.ndim != 3 or digits.shape != pixels.shape[:1]:
        raise ValueError(
            f"images must be (n, height, width) and labels (n,), got {pixels.shape} and "
            f"{digits.shape}."
        )
    n = len(pixels)
    counts = _counts(tuple(parts), n)
    order = np.random.default_rng(seed).permutation(n)
    ends = np.cumsum(counts)
    chosen = [order[end - count : end] for count, end in zip(counts, ends)]
    return tuple(DigitImages(pixels[i], digits[i]) for i in chosen)


def _counts(parts: tuple[Any, ...], n: int) -> list[int]:
    whole = [isinstance(part, (int, np.integer)) for part in parts]
    if not parts or (any(whole) and not all(whole)):
        raise ValueError(f"parts must be all shares or all whole numbers of images, got {parts}.")
    if all(whole):
        counts = [int(part) for part in parts]
    else:
        shares = np.asarray(parts, float)
        # Shares such as 0.7, 0.2 and 0.1 add up to 1 to rounding only.
        if not np.all(np.isfinite(shares) & (shares > 0)) or shares.sum() > 1 + 1e-9:
            raise ValueError(f"shares must be above 0 and in sum at most 1, got {parts}.")
        ends = np.floor(np.cumsum(shares) * n + 0.5).astype(int)
        counts = np.diff(ends, prepend=0).tolist()
    if min(counts) < 1 or sum(counts) > n:
        raise ValueError(
            f"parts {parts} of {n} images are {counts} images: at least 1 in each is needed, and "
            f"at most {n} in all."
        )
    return counts
