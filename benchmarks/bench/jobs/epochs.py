"""A small real training, epoch by epoch: a linear classifier of digits. It logs its accuracy after each epoch."""

import argparse
import time

from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split

from footplate import Run

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float)
parser.add_argument("--penalty", type=float)
parser.add_argument("--epochs", type=int)
parser.add_argument("--pause", type=float)
given = parser.parse_args()
images, labels = load_digits(return_X_y=True)
train, test, known, wanted = train_test_split(images / 16.0, labels, test_size=0.3, random_state=0)
model = SGDClassifier(
    loss="log_loss", learning_rate="constant", eta0=given.rate, alpha=given.penalty, random_state=0
)  # fmt: skip
run = Run.get_context()
for _ in range(given.epochs):
    model.partial_fit(train, known, classes=range(10))
    run.log("accuracy", float(model.score(test, wanted)))
    time.sleep(given.pause)  # an epoch takes as long as one of a small network
