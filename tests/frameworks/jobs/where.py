"""Log the interpreter of the environment."""

import sys

from azureml.core import Run

Run.get_context().log("interpreter", sys.executable)
