"""A linear model under MultiWorkerMirroredStrategy, or in one process without TF_CONFIG."""

import json
import os

import tensorflow as tf

together = "TF_CONFIG" in os.environ
strategy = tf.distribute.MultiWorkerMirroredStrategy() if together else tf.distribute.get_strategy()
task = json.loads(os.environ["TF_CONFIG"])["task"] if together else {"type": "worker", "index": 0}
size, index = strategy.num_replicas_in_sync, task["index"]

inputs = tf.random.stateless_normal((64, 8), seed=(1, 2), dtype=tf.float64)
wanted = inputs @ tf.reshape(tf.range(8, dtype=tf.float64), (8, 1))
mine = slice(index * 64 // size, (index + 1) * 64 // size)
with strategy.scope():
    weights = tf.Variable(tf.zeros((8, 1), tf.float64))


@tf.function
def step():
    def replica():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((inputs[mine] @ weights - wanted[mine]) ** 2) / 64
        gradient = tape.gradient(loss, weights)
        total = tf.distribute.get_replica_context().all_reduce("sum", gradient)
        weights.assign_sub(0.05 * total)

    strategy.run(replica)


for _ in range(50):
    step()
with open(f"outputs/weights_{index}.json", "w") as file:
    json.dump(weights.numpy().flatten().tolist(), file)
