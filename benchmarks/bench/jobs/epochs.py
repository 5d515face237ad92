"""A small real training, epoch by epoch: a linear classifier of digits. It logs its accuracy after each epoch."""

import argparse
import time

import numpy as np

from footplate import Run

BATCH = 32

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float)
parser.add_argument("--penalty", type=float)
parser.add_argument("--epochs", type=int)
parser.add_argument("--pause", type=float)
given = parser.parse_args()
random = np.random.default_rng(0)
digits = np.load("digits.npz")
order = random.permutation(len(digits["labels"]))
images = np.hstack([digits["images"] / 16.0, np.ones((len(order), 1))])[order]
labels = digits["labels"][order]
train, test = slice(0, len(order) * 7 // 10), slice(len(order) * 7 // 10, None)
wanted = np.eye(10)[labels]
weights = np.zeros((images.shape[1], 10))
run = Run.get_context()
for _ in range(given.epochs):
    for batch in np.array_split(random.permutation(train.stop), train.stop // BATCH):
        scores = images[batch] @ weights
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        slope = images[batch].T @ (chances - wanted[batch]) / len(batch)
        weights -= given.rate * (slope + given.penalty * weights)
    run.log("accuracy", float(np.mean((images[test] @ weights).argmax(axis=1) == labels[test])))
    time.sleep(given.pause)  # an epoch takes as long as one of a small network
