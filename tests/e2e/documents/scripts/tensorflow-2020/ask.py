"""Ask a downloaded SavedModel about the digits in digits.json."""

import json

import tensorflow as tf

from azureml.core import Run

with open("digits.json") as file:
    digits = tf.constant(json.load(file), tf.float32)
model = tf.saved_model.load("model")
answers = next(iter(model.signatures["serving_default"](digits).values()))
run = Run.get_context()
for answer in answers.numpy().tolist():
    run.log_list("answer", answer)
