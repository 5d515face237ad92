"""Arguments, data and network of the scripts of 2019: TensorFlow 1.13."""

import argparse
import glob
import gzip
import os
import struct

import numpy as np
import tensorflow as tf


def load_data(filename, label=False):
    with gzip.open(filename) as gz:
        gz.read(4)
        n_items = struct.unpack(">I", gz.read(4))[0]
        if label:
            return np.frombuffer(gz.read(n_items), dtype=np.uint8).astype(np.int64)
        n_rows, n_cols = struct.unpack(">II", gz.read(8))
        pixels = np.frombuffer(gz.read(n_items * n_rows * n_cols), dtype=np.uint8)
        return pixels.reshape([n_items, n_rows * n_cols]).astype(np.float32) / 255.0


def find_data(folder, name, label=False):
    return load_data(glob.glob(os.path.join(folder, "**", name), recursive=True)[0], label)


def network(X, y, n_hidden_1, n_hidden_2):
    """Return the answers of a network with two hidden layers, its loss and its accuracy."""
    h1 = tf.layers.dense(X, n_hidden_1, activation=tf.nn.relu, name="h1")
    h2 = tf.layers.dense(h1, n_hidden_2, activation=tf.nn.relu, name="h2")
    output = tf.layers.dense(h2, 10, name="output")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=output), name="loss")
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(output, 1), y), tf.float32), name="accuracy")
    return output, loss, accuracy


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-folder", type=str, dest="data_folder", help="data folder mounting point")
    parser.add_argument("--batch-size", type=int, dest="batch_size", default=50, help="mini batch size")
    parser.add_argument("--first-layer-neurons", type=int, dest="n_hidden_1", default=100)
    parser.add_argument("--second-layer-neurons", type=int, dest="n_hidden_2", default=100)
    parser.add_argument("--learning-rate", type=float, dest="learning_rate", default=0.01)
    return parser.parse_args()
