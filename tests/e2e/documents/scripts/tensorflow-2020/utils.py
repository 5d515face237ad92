"""Reads the files of MNIST."""

import gzip
import struct

import numpy as np


def load_data(filename, label=False):
    with gzip.open(filename) as gz:
        gz.read(4)
        n_items = struct.unpack(">I", gz.read(4))[0]
        if label:
            return np.frombuffer(gz.read(n_items), dtype=np.uint8).astype(np.int64)
        n_rows, n_cols = struct.unpack(">II", gz.read(8))
        pixels = np.frombuffer(gz.read(n_items * n_rows * n_cols), dtype=np.uint8)
        return pixels.reshape([n_items, n_rows * n_cols]).astype(np.float32) / 255.0
