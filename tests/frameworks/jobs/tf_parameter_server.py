"""A linear model under ParameterServerStrategy: a chief that leads, workers and parameter servers that serve."""

import json
import os

import tensorflow as tf

together = "TF_CONFIG" in os.environ
if together:
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type in ("worker", "ps"):
        tf.distribute.Server(
            resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc"
        ).join()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
else:
    strategy, coordinator = tf.distribute.get_strategy(), None

inputs = tf.random.stateless_normal((64, 8), seed=(1, 2), dtype=tf.float64)
wanted = inputs @ tf.reshape(tf.range(8, dtype=tf.float64), (8, 1))
with strategy.scope():
    weights = tf.Variable(tf.zeros((8, 1), tf.float64))


@tf.function
def gradient(first, last):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((inputs[first:last] @ weights - wanted[first:last]) ** 2) / 64
    return tape.gradient(loss, weights)


for _ in range(20):
    halves = [(tf.constant(0), tf.constant(32)), (tf.constant(32), tf.constant(64))]
    if coordinator is None:
        parts = [gradient(*half) for half in halves]
    else:
        parts = [coordinator.schedule(gradient, args=half) for half in halves]
        coordinator.join()
        parts = [part.fetch() for part in parts]
    weights.assign_sub(0.05 * tf.add_n([tf.convert_to_tensor(part) for part in parts]))
with open("outputs/weights_0.json", "w") as file:
    json.dump(weights.numpy().flatten().tolist(), file)
print("trained by", [d.name for d in tf.config.list_logical_devices() if "worker" in d.name] or "one process")
