"""Classify handwritten digits in several processes: TensorFlow 1.13 with Horovod."""

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from utils import find_data, network, parse_arguments

from azureml.core import Run

EPOCHS = 10

args = parse_arguments()
hvd.init()
X_train, y_train = find_data(args.data_folder, "train-images.gz"), find_data(args.data_folder, "train-labels.gz", True)
X_test, y_test = find_data(args.data_folder, "test-images.gz"), find_data(args.data_folder, "test-labels.gz", True)
mine = np.arange(len(X_train))[hvd.rank() :: hvd.size()]
tf.set_random_seed(hvd.rank())  # each process starts elsewhere: the broadcast makes them equal

X = tf.placeholder(tf.float32, shape=(None, 784), name="X")
y = tf.placeholder(tf.int64, shape=(None), name="y")
output, loss, accuracy = network(X, y, args.n_hidden_1, args.n_hidden_2)
optimizer = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(args.learning_rate * hvd.size()))
train_op = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
average = hvd.allreduce(loss)
weights = tf.concat([tf.reshape(variable, [1, -1]) for variable in tf.trainable_variables()], axis=1)
everywhere = hvd.allgather(weights)

run = Run.get_context()
with tf.train.MonitoredTrainingSession(hooks=[hvd.BroadcastGlobalVariablesHook(0)]) as sess:
    for _ in range(EPOCHS):
        np.random.shuffle(mine)
        for start in range(0, len(mine), args.batch_size):
            batch = mine[start : start + args.batch_size]
            _, value = sess.run([train_op, average], {X: X_train[batch], y: y_train[batch]})
        acc_val = float(sess.run(accuracy, {X: X_test, y: y_test}))
        if hvd.rank() == 0:
            run.log("loss", float(value))
            run.log("validation_acc", acc_val)
    found = sess.run(everywhere)
if hvd.rank() == 0:
    run.log("processes", hvd.size())
    run.log("difference", float(np.abs(found - found[0]).max()))
