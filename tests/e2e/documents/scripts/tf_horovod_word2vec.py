"""Stands in for `tf_horovod_word2vec.py` of Azure's example: two processes, one sum, and files from the data folder."""

import argparse
import os

import horovod.tensorflow as hvd
import tensorflow as tf

from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--input_data")
args = parser.parse_args()
hvd.init()
files = sum(len(names) for _, _, names in os.walk(args.input_data))
total = hvd.allreduce(tf.constant([1.0]), op=hvd.Sum).numpy()[0]
if hvd.rank() == 0:
    Run.get_context().log_row("horovod", size=hvd.size(), total=float(total), files=files)
