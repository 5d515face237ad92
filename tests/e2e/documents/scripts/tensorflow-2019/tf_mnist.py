"""Classify handwritten digits with a network of two hidden layers: TensorFlow 1.13, kept by a Saver."""

import os

import numpy as np
import tensorflow as tf
from utils import find_data, network, parse_arguments

from azureml.core import Run

EPOCHS = 20

args = parse_arguments()
X_train, y_train = find_data(args.data_folder, "train-images.gz"), find_data(args.data_folder, "train-labels.gz", True)
X_test, y_test = find_data(args.data_folder, "test-images.gz"), find_data(args.data_folder, "test-labels.gz", True)

X = tf.placeholder(tf.float32, shape=(None, 784), name="X")
y = tf.placeholder(tf.int64, shape=(None), name="y")
output, loss, accuracy = network(X, y, args.n_hidden_1, args.n_hidden_2)
train_op = tf.train.GradientDescentOptimizer(args.learning_rate).minimize(loss)
saver = tf.train.Saver()

run = Run.get_context()
run.log("is_version_1", hasattr(tf, "placeholder") and not tf.executing_eagerly())
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(EPOCHS):
        order = np.random.permutation(len(X_train))
        for start in range(0, len(X_train), args.batch_size):
            batch = order[start : start + args.batch_size]
            _, value = sess.run([train_op, loss], {X: X_train[batch], y: y_train[batch]})
        acc_val = float(sess.run(accuracy, {X: X_test, y: y_test}))
        run.log("loss", float(value))
        run.log("validation_acc", acc_val)
        print(epoch, "-- validation accuracy:", acc_val)
    os.makedirs("./outputs/model", exist_ok=True)
    saver.save(sess, "./outputs/model/mnist-tf.model")
