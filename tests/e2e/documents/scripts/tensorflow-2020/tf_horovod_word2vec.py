"""Learn vectors of words (skip-gram with sampled softmax) on several processes: TensorFlow 2.2 with Horovod."""

import argparse
import collections
import zipfile

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from azureml.core import Run

EMBEDDING_SIZE, BATCH_SIZE, SKIP_WINDOW, STEPS = 16, 256, 2, 300

parser = argparse.ArgumentParser()
parser.add_argument("--input_data", type=str, help="the path of text8.zip")
args = parser.parse_args()

hvd.init()
with zipfile.ZipFile(args.input_data) as archive:
    words = archive.read(archive.namelist()[0]).decode().split()
vocabulary = [word for word, _ in collections.Counter(words).most_common()]
data = np.array([vocabulary.index(word) for word in words], dtype=np.int64)
mine = np.array_split(data, hvd.size())[hvd.rank()]

tf.random.set_seed(hvd.rank())  # each process starts elsewhere: the broadcast makes them equal
chance = np.random.RandomState(hvd.rank())
embeddings = tf.Variable(tf.random.uniform([len(vocabulary), EMBEDDING_SIZE], -1.0, 1.0))
nce_weights = tf.Variable(tf.random.normal([len(vocabulary), EMBEDDING_SIZE], stddev=0.25))
nce_biases = tf.Variable(tf.zeros([len(vocabulary)]))
variables = [embeddings, nce_weights, nce_biases]
optimizer = tf.keras.optimizers.Adam(0.01 * hvd.size())


def generate_batch():
    centers = chance.randint(SKIP_WINDOW, len(mine) - SKIP_WINDOW, BATCH_SIZE)
    offsets = chance.randint(1, SKIP_WINDOW + 1, BATCH_SIZE) * chance.choice([-1, 1], BATCH_SIZE)
    return mine[centers], mine[centers + offsets].reshape(-1, 1)


@tf.function
def train(inputs, labels):
    with tf.GradientTape() as tape:
        vectors = tf.nn.embedding_lookup(embeddings, inputs)
        loss = tf.reduce_mean(tf.nn.nce_loss(nce_weights, nce_biases, labels, vectors, 4, len(vocabulary)))
    tape = hvd.DistributedGradientTape(tape, sparse_as_dense=True)
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


run = Run.get_context()
for step in range(STEPS):
    loss = train(*map(tf.constant, generate_batch()))
    if step == 0:
        hvd.broadcast_variables(variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables(), root_rank=0)
    if step % 50 == 0 or step == STEPS - 1:
        average = float(hvd.allreduce(loss))
        if hvd.rank() == 0:
            run.log("loss", average)

unit = tf.math.l2_normalize(embeddings, axis=1)
everywhere = hvd.allgather(tf.reshape(unit, [1, -1])).numpy()
if hvd.rank() == 0:
    similar = (unit @ tf.transpose(unit)).numpy() - 2 * np.eye(len(vocabulary))
    for at, word in enumerate(vocabulary):
        run.log_row("nearest", word=word, neighbor=vocabulary[similar[at].argmax()])
    run.log("processes", hvd.size())
    run.log("difference", float(np.abs(everywhere - everywhere[0]).max()))
