"""The rest of a training script for parameter servers, after the lines of the document: TensorFlow 1.13."""

import numpy as np
from utils import find_data, network, parse_arguments

from azureml.core import Run

EPOCHS = 8

args = parse_arguments()
task = tf_config_json["task"]
server = tf.train.Server(cluster_spec, job_name=task["type"], task_index=task["index"])
if task["type"] == "ps":
    server.join()

X_train, y_train = find_data(args.data_folder, "train-images.gz"), find_data(args.data_folder, "train-labels.gz", True)
X_test, y_test = find_data(args.data_folder, "test-images.gz"), find_data(args.data_folder, "test-labels.gz", True)
with tf.device(
    tf.train.replica_device_setter(cluster=cluster_spec, worker_device="/job:worker/task:%d" % task["index"])
):
    X = tf.placeholder(tf.float32, shape=(None, 784), name="X")
    y = tf.placeholder(tf.int64, shape=(None), name="y")
    output, loss, accuracy = network(X, y, args.n_hidden_1, args.n_hidden_2)
    global_step = tf.train.get_or_create_global_step()
    train_op = tf.train.GradientDescentOptimizer(args.learning_rate).minimize(loss, global_step=global_step)

run = Run.get_context()
supervisor = tf.train.Supervisor(is_chief=task["index"] == 0, global_step=global_step, recovery_wait_secs=1)
# A worker that waited for the others would wait for ever for one that has ended.
config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % task["index"]])
with supervisor.prepare_or_wait_for_session(server.target, config=config) as sess:
    for _ in range(EPOCHS):
        order = np.random.permutation(len(X_train))
        for start in range(0, len(X_train), args.batch_size):
            batch = order[start : start + args.batch_size]
            sess.run(train_op, {X: X_train[batch], y: y_train[batch]})
    acc_val, steps = sess.run([accuracy, global_step], {X: X_test, y: y_test})
devices = " ".join(sorted({variable.device for variable in tf.trainable_variables()}))
run.log_row("worker", index=task["index"], accuracy=float(acc_val), steps=int(steps), devices=devices)
if task["index"] == 0:
    run.log("tf_config", tf_config)
