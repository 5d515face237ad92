"""Ask a downloaded checkpoint about the digits that it was not trained with."""

import tensorflow as tf
from utils import find_data, parse_arguments

from azureml.core import Run

folder = parse_arguments().data_folder
with tf.Session() as sess:
    tf.train.import_meta_graph("model/mnist-tf.model.meta").restore(sess, "model/mnist-tf.model")
    digits = {"X:0": find_data(folder, "test-images.gz"), "y:0": find_data(folder, "test-labels.gz", True)}
    Run.get_context().log("accuracy", float(sess.run("accuracy:0", digits)))
