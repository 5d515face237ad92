"""Classify the digits of scikit-learn: TensorFlow 1.13, one process."""

import argparse

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from azureml.core import Run

EPOCHS = 40

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, dest="batch_size", default=50)
parser.add_argument("--learning-rate", type=float, dest="learning_rate", default=0.01)
args = parser.parse_args()

data = load_digits()
x_train, x_test, y_train, y_test = train_test_split(data.data / 16.0, data.target, random_state=0)

X = tf.placeholder(tf.float32, [None, 64], name="X")
y = tf.placeholder(tf.int64, [None], name="y")
hidden = tf.layers.dense(X, 64, activation=tf.nn.relu, name="h1")
output = tf.layers.dense(hidden, 10, name="output")
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=output))
train_op = tf.train.MomentumOptimizer(args.learning_rate, 0.9).minimize(loss)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(output, 1), y), tf.float32))

run = Run.get_context()
run.log_row("parameters", batch_size=args.batch_size, learning_rate=args.learning_rate)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(EPOCHS):
        order = np.random.permutation(len(x_train))
        for start in range(0, len(x_train), args.batch_size):
            batch = order[start : start + args.batch_size]
            _, value = sess.run([train_op, loss], {X: x_train[batch], y: y_train[batch]})
        run.log("loss", float(value))
        run.log("accuracy", float(sess.run(accuracy, {X: x_test, y: y_test})))
