"""Stands in for `utils.py` of Azure's example: reads the gzip files of MNIST."""

import gzip
import struct

import numpy as np


def load_data(filename, label=False):
    with gzip.open(filename) as file:
        file.read(4)
        (count,) = struct.unpack(">I", file.read(4))
        if label:
            return np.frombuffer(file.read(count), np.uint8).astype(np.int64)
        rows, columns = struct.unpack(">II", file.read(8))
        pixels = np.frombuffer(file.read(count * rows * columns), np.uint8)
        return pixels.reshape(count, rows * columns).astype(np.float32) / 255.0
