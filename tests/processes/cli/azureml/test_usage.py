"""The share of Azure's API that public code uses and that works here."""

from __future__ import annotations

import subprocess
import sys

from ....unit.cli.azureml.test_usage import names_beyond


def test_the_share_is_the_same_without_libraries_that_plugins_need() -> None:
    code = (
        "import sys; sys.modules['mlflow'] = None; from footplate.cli.azureml import usage;"
        "print(sum(usage.why_missing(each) is not None for each in usage.symbols()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == str(len(names_beyond())), done.stderr
