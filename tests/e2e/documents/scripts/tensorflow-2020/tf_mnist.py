"""Classify handwritten digits with a network of two hidden layers: TensorFlow 2.2, a training loop of one's own."""

import argparse
import glob
import os

import tensorflow as tf
from utils import load_data

from azureml.core import Run

EPOCHS = 12

parser = argparse.ArgumentParser()
parser.add_argument("--data-folder", type=str, dest="data_folder", default="data", help="data folder mounting point")
parser.add_argument("--batch-size", type=int, dest="batch_size", default=128, help="mini batch size for training")
parser.add_argument("--first-layer-neurons", type=int, dest="n_hidden_1", default=128)
parser.add_argument("--second-layer-neurons", type=int, dest="n_hidden_2", default=128)
parser.add_argument("--learning-rate", type=float, dest="learning_rate", default=0.01)
args = parser.parse_args()


def read(name, label=False):
    return load_data(glob.glob(os.path.join(args.data_folder, "**", name), recursive=True)[0], label)


x_train, y_train = read("train-images-idx3-ubyte.gz"), read("train-labels-idx1-ubyte.gz", True)
x_test, y_test = read("t10k-images-idx3-ubyte.gz"), read("t10k-labels-idx1-ubyte.gz", True)
training = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(len(x_train)).batch(args.batch_size)

neural_net = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(args.n_hidden_1, activation="relu", input_shape=(784,)),
        tf.keras.layers.Dense(args.n_hidden_2, activation="relu"),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)
optimizer = tf.keras.optimizers.SGD(args.learning_rate, momentum=0.5)
cross_entropy = tf.keras.losses.SparseCategoricalCrossentropy()
accuracy = tf.keras.metrics.SparseCategoricalAccuracy()


@tf.function
def run_optimization(x, y):
    with tf.GradientTape() as tape:
        loss = cross_entropy(y, neural_net(x))
    gradients = tape.gradient(loss, neural_net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, neural_net.trainable_variables))
    return loss


run = Run.get_context()
run.log("tensorflow", tf.__version__)
for epoch in range(EPOCHS):
    losses = [run_optimization(x, y) for x, y in training]
    accuracy.reset_states()
    accuracy.update_state(y_test, neural_net(x_test))
    run.log("loss", float(sum(losses)) / len(losses))
    run.log("validation_acc", float(accuracy.result()))
    print(epoch, "-- validation accuracy:", float(accuracy.result()))

os.makedirs("./outputs/model", exist_ok=True)
tf.saved_model.save(neural_net, "./outputs/model")
