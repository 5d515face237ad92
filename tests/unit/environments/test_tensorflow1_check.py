"""Lines of scripts that only TensorFlow 1 can run."""

from __future__ import annotations

import pytest

from footplate.environments.tensorflow1_check import first_impossible_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import tensorflow as tf\nx = tf.contrib.layers.flatten(y)\n", 2),
        ("import os\n\nfrom tensorflow.contrib import learn\n", 3),
        ("from tensorflow import contrib\n", 1),
        ("from tensorflow.examples.tutorials.mnist import input_data\n", 1),
        ("import tensorflow\ndef f():\n    return tensorflow.contrib\n", 3),
    ],
)
def test_the_first_such_line_is_found(text: str, line: int) -> None:
    assert first_impossible_line(text) == (line, text.splitlines()[line - 1].strip())


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf\nx = tf.placeholder(tf.float32)\n",
        "import tensorflow as tf\ntry:\n    f = tf.contrib.layers\nexcept AttributeError:\n    f = None\n",
        "import other as tf\ntf.contrib\n",
        "this is not Python\n",
    ],
)
def test_other_scripts_have_none(text: str) -> None:
    assert first_impossible_line(text) is None
