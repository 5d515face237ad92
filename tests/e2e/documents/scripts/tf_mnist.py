"""Stands in for `tf_mnist.py` of Azure's example, which needs TensorFlow 1: the same arguments, data and outputs."""

import argparse
import glob
import os

import tensorflow as tf
from utils import load_data

from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--data-folder")
parser.add_argument("--batch-size", type=int)
parser.add_argument("--first-layer-neurons", type=int)
parser.add_argument("--second-layer-neurons", type=int)
parser.add_argument("--learning-rate", type=float)
args = parser.parse_args()


def find(*patterns):
    paths = [glob.glob(os.path.join(args.data_folder, "**", pattern), recursive=True) for pattern in patterns]
    return sorted(path for found in paths for path in found)[0]


images, labels = load_data(find("train-images*gz")), load_data(find("train-labels*gz"), True)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Input((784,)),
        tf.keras.layers.Dense(args.first_layer_neurons, activation="relu"),
        tf.keras.layers.Dense(args.second_layer_neurons, activation="relu"),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(tf.keras.optimizers.SGD(args.learning_rate), "sparse_categorical_crossentropy", metrics=["accuracy"])
run = Run.get_context()
for loss in model.fit(images, labels, args.batch_size, epochs=2, verbose=0).history["loss"]:
    run.log("loss", loss)
model.export("./outputs/model")
