"""Logistic regression by hand, on generated data: nothing to install, nothing to download."""

import argparse
import json
import math
import random

from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--learning-rate", type=float, default=0.5)
parser.add_argument("--epochs", type=int, default=60)
options = parser.parse_args()

run = Run.get_context()


def make_points(count, seed):
    """Yield two overlapping clouds of points, labelled 0 and 1."""
    rng = random.Random(seed)
    for _ in range(count):
        label = rng.randint(0, 1)
        center = 3.4 if label else 1.0
        yield rng.gauss(center, 1.0), rng.gauss(center, 1.0), label


def predict(weights, x, y):
    return 1 / (1 + math.exp(-(weights[0] * x + weights[1] * y + weights[2])))


def accuracy(weights, points):
    return sum((predict(weights, x, y) > 0.5) == bool(label) for x, y, label in points) / len(points)


train, test = list(make_points(400, seed=1)), list(make_points(200, seed=2))
weights = [0.0, 0.0, 0.0]
for epoch in range(options.epochs):
    gradient, loss = [0.0, 0.0, 0.0], 0.0
    for x, y, label in train:
        guess = predict(weights, x, y)
        loss -= math.log(guess if label else 1 - guess) / len(train)
        for i, value in enumerate((x, y, 1.0)):
            gradient[i] += (guess - label) * value / len(train)
    weights = [w - options.learning_rate * g for w, g in zip(weights, gradient)]
    run.log("loss", loss)
    run.log("accuracy", accuracy(weights, test))
    if epoch % 10 == 0:
        print(f"epoch {epoch:3d}  loss {loss:.4f}  accuracy {accuracy(weights, test):.3f}", flush=True)

run.log("final accuracy", accuracy(weights, test))
with open("outputs/model.json", "w") as file:
    json.dump({"weights": weights}, file)
print(f"final accuracy {accuracy(weights, test):.3f}")
