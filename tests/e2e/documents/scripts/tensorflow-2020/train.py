"""Train a Keras model on several workers with MultiWorkerMirroredStrategy: TensorFlow 2.2."""

import argparse
import json
import os

import numpy as np
import tensorflow as tf

from azureml.core import Run

BATCH_SIZE = 32

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--model-dir", type=str, default="./outputs/keras-model")
args = parser.parse_args()

strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
config = json.loads(os.environ["TF_CONFIG"])
index, workers = config["task"]["index"], len(config["cluster"]["worker"])

# Two rings of points, which no straight line separates.
chance = np.random.RandomState(0)
labels = chance.randint(0, 2, 512)
angles, radii = chance.uniform(0, 2 * np.pi, 512), 1.0 + labels + chance.normal(0, 0.1, 512)
points = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1).astype(np.float32)
dataset = tf.data.Dataset.from_tensor_slices((points, labels)).shuffle(512, seed=1).batch(BATCH_SIZE * workers).repeat()
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
dataset = dataset.with_options(options)

with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(16, activation="relu", input_shape=(2,)), tf.keras.layers.Dense(2, activation="softmax")]
    )
    model.compile(tf.keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(dataset, epochs=args.epochs, steps_per_epoch=512 // (BATCH_SIZE * workers), verbose=2)

# Every worker must save, and only one of them to the right place.
model.save(args.model_dir if index == 0 else os.path.join("/tmp", f"worker_{index}_{os.getpid()}"))
run = Run.get_context()
weights = float(sum(np.abs(weight).sum() for weight in model.get_weights()))
run.log_row("worker", index=index, replicas=strategy.num_replicas_in_sync, weights=weights)
if index == 0:
    for loss, accuracy in zip(history.history["loss"], history.history["accuracy"]):
        run.log("loss", loss)
        run.log("accuracy", accuracy)
    run.log("tf_config", os.environ["TF_CONFIG"])
