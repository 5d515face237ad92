"""The rest of a training script for parameter servers, after the lines of the document: TensorFlow 1.13."""

import numpy as np

from azureml.core import Run

STEPS, BATCH_SIZE = 300, 32

task = tf_config_json["task"]
server = tf.train.Server(cluster_spec, job_name=task["type"], task_index=task["index"])
if task["type"] == "ps":
    server.join()

chance = np.random.RandomState(task["index"])
with tf.device(
    tf.train.replica_device_setter(cluster=cluster_spec, worker_device="/job:worker/task:%d" % task["index"])
):
    X = tf.placeholder(tf.float32, [None, 2])
    y = tf.placeholder(tf.float32, [None, 1])
    output = tf.layers.dense(X, 1)
    loss = tf.reduce_mean(tf.square(output - y))
    global_step = tf.train.get_or_create_global_step()
    train_op = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=global_step)


def batch():
    points = chance.uniform(-1, 1, (BATCH_SIZE, 2))
    return {X: points, y: points @ [[3.0], [-2.0]] + 0.5 + chance.normal(0, 0.01, (BATCH_SIZE, 1))}


run = Run.get_context()
supervisor = tf.train.Supervisor(is_chief=task["index"] == 0, global_step=global_step, recovery_wait_secs=1)
# A worker that waited for the others would wait for ever for one that has ended.
config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % task["index"]])
with supervisor.prepare_or_wait_for_session(server.target, config=config) as session:
    for _ in range(STEPS):
        _, value = session.run([train_op, loss], batch())
    weights, steps = session.run([tf.trainable_variables(), global_step])
run.log_row(
    "worker",
    index=task["index"],
    loss=float(value),
    steps=int(steps),
    devices=" ".join(sorted({variable.device for variable in tf.trainable_variables()})),
    largest=float(max(np.abs(weight).max() for weight in weights)),
)
if task["index"] == 0:
    run.log("tf_config", tf_config)
