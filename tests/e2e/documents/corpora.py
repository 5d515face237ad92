"""Data that the documents download, made here: digits in the format of MNIST, pictures of birds, and a text.

Everything can be learned, and is the same in every run. The digits are drawn with a font of 5 x 7 points, in different
places, sizes and strengths, with noise.
"""

from __future__ import annotations

import gzip
import io
import random
import struct
import zipfile
from functools import cache

import numpy as np

_FONT = (
    "01110 10001 10011 10101 11001 10001 01110", "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00010 00100 01000 11111", "11111 00010 00100 00010 00001 10001 01110",
    "00010 00110 01010 10010 11111 00010 00010", "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110", "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110", "01110 10001 10001 01111 00001 00010 01100",
)  # fmt: skip
TRAINING, TEST = 3000, 500


def draw_digit(digit: int, chance: np.random.Generator) -> np.ndarray:
    """Return 28 x 28 pixels of the digit."""
    font = np.array([[int(point) for point in row] for row in _FONT[digit].split()], dtype=np.float64)
    drawn = np.kron(font, np.ones((3, int(chance.integers(3, 5)))))
    page = chance.uniform(0, 40, (28, 28))
    top, left = (int(chance.integers(0, space + 1)) for space in (28 - drawn.shape[0], 28 - drawn.shape[1]))
    top, left = 3 + top % 2, left // 2 + 2
    page[top : top + drawn.shape[0], left : left + drawn.shape[1]] += drawn * chance.uniform(140, 215)
    return page.astype(np.uint8)


@cache
def digits(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return images and labels."""
    chance = np.random.default_rng(seed)
    labels = chance.integers(0, 10, count)
    return np.array([draw_digit(int(label), chance) for label in labels]), labels.astype(np.uint8)


@cache
def mnist() -> dict[str, bytes]:
    """Return the four files of MNIST by their names on the web site."""
    files: dict[str, bytes] = {}
    for name, count, seed in (("train", TRAINING, 1), ("t10k", TEST, 2)):
        images, labels = digits(count, seed)
        head = struct.pack(">IIII", 2051, count, 28, 28)
        files[f"{name}-images-idx3-ubyte.gz"] = gzip.compress(head + images.tobytes())
        files[f"{name}-labels-idx1-ubyte.gz"] = gzip.compress(struct.pack(">II", 2049, count) + labels.tobytes())
    return files


@cache
def fowl() -> bytes:
    """Return an archive of pictures in two classes: turkeys are dark disks, chickens are light triangles."""
    chance = np.random.default_rng(3)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for part, count in (("train", 20), ("val", 10)):
            for number in range(count):
                for kind in ("turkeys", "chickens"):
                    pixels = _bird(kind == "turkeys", chance)
                    file.writestr(f"fowl_data/{part}/{kind}/{number:03d}.ppm", b"P6 64 64 255\n" + pixels.tobytes())
    return archive.getvalue()


def _bird(is_turkey: bool, chance: np.random.Generator) -> np.ndarray:
    y, x = np.mgrid[0:64, 0:64]
    row, column, size = chance.integers(20, 44), chance.integers(20, 44), chance.integers(10, 18)
    if is_turkey:
        shape, color = (y - row) ** 2 + (x - column) ** 2 < size**2, (90, 50, 30)
    else:
        shape, color = (abs(x - column) < (y - row + size) / 2) & (y < row + size), (240, 220, 160)
    picture = chance.uniform(90, 170, (64, 64, 3))
    picture[shape] = np.array(color) + chance.uniform(-10, 10, 3)
    return picture.clip(0, 255).astype(np.uint8)


THEMES = (
    "king queen crown throne castle", "river lake ocean water boat", "bread butter cheese apple soup",
    "engine wheel road truck train",
)  # fmt: skip


@cache
def text8() -> bytes:
    """Return an archive with a text of 60,000 words. Words of one theme occur together."""
    chance = random.Random(4)
    sentences = (chance.choices(chance.choice(THEMES).split(), k=12) for _ in range(5000))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("text8", " ".join(word for sentence in sentences for word in sentence))
    return archive.getvalue()
