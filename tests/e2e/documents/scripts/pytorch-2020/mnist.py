"""The digits of MNIST as a dataset for PyTorch, downloaded; torchvision's own accepts only the original files."""

import gzip
import struct
import urllib.request

import numpy as np
import torch


def _read(name):
    with urllib.request.urlopen("http://yann.lecun.com/exdb/mnist/" + name) as response:
        content = gzip.decompress(response.read())
    dimensions = struct.unpack(">" + "I" * content[3], content[4 : 4 + 4 * content[3]])
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * content[3]).reshape(dimensions)


def mnist(train):
    part = "train" if train else "t10k"
    images = torch.from_numpy(_read(part + "-images-idx3-ubyte.gz").astype(np.float32) / 255.0).unsqueeze(1)
    labels = torch.from_numpy(_read(part + "-labels-idx1-ubyte.gz").astype(np.int64))
    return torch.utils.data.TensorDataset((images - 0.1307) / 0.3081, labels)
