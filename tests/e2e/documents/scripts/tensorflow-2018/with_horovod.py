"""The rest of a training script for several processes, after the imports of the document: TensorFlow 1.13."""

import horovod.tensorflow as hvd
import numpy as np

from azureml.core import Run

STEPS, BATCH_SIZE = 300, 32

hvd.init()
chance = np.random.RandomState(hvd.rank())  # each process has data of its own
tf.set_random_seed(hvd.rank())  # and starts elsewhere: the broadcast makes them equal

X = tf.placeholder(tf.float32, [None, 2])
y = tf.placeholder(tf.float32, [None, 1])
output = tf.layers.dense(X, 1)
loss = tf.reduce_mean(tf.square(output - y))
optimizer = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.05 * hvd.size()))
global_step = tf.train.get_or_create_global_step()
train_op = optimizer.minimize(loss, global_step=global_step)
weights = tf.concat([tf.reshape(variable, [1, -1]) for variable in tf.trainable_variables()], axis=1)
everywhere = hvd.allgather(weights)
average = hvd.allreduce(loss)


def batch():
    points = chance.uniform(-1, 1, (BATCH_SIZE, 2))
    return {X: points, y: points @ [[3.0], [-2.0]] + 0.5 + chance.normal(0, 0.01, (BATCH_SIZE, 1))}


run = Run.get_context()
hooks = [hvd.BroadcastGlobalVariablesHook(0)]
with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
    for step in range(STEPS):
        _, value = session.run([train_op, average], batch())
        if step % 50 == 0 and hvd.rank() == 0:
            run.log("loss", float(value))
    found = session.run(everywhere)
if hvd.rank() == 0:
    run.log_row("modules", tensorflow=tf.__name__, horovod=horovod.__name__)
    run.log("processes", hvd.size())
    run.log("difference", float(np.abs(found - found[0]).max()))
    run.log_list("weights", found[0].tolist())
