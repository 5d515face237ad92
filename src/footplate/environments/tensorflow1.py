"""A hook inside environments that replace TensorFlow 1 by TensorFlow 2: `import tensorflow` gives `tf.compat.v1`.

TensorFlow 1 has wheels up to Python 3.7, and jobs need 3.8. The build copies this file into `site-packages`, with a
`.pth` file that imports it in every Python of the environment; so it uses only the standard library. The variable
FOOTPLATE_TENSORFLOW1=0 turns it off.
"""

import importlib
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

NAME = "footplate_tensorflow1"
_GONE = ("tensorflow.contrib", "tensorflow.examples")
_WHY = "TensorFlow 2 replaces TensorFlow 1 in this environment, and it has no {}"


class _Finder:
    """Finds `tensorflow` as usual, and switches it to version 1 once it is loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        for removed in _GONE:
            if name == removed or name.startswith(removed + "."):
                raise ModuleNotFoundError(f"No module named {name!r}: {_WHY.format(removed)}", name=name)
        if name != "tensorflow":
            return None
        sys.meta_path.remove(self)  # the others find it
        try:
            spec: Any = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def create_module(self, spec: Any) -> Any:
        return self._real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._real.exec_module(module)
        v1 = importlib.import_module("tensorflow.compat.v1")
        v1.disable_v2_behavior()
        public = {name: value for name, value in vars(v1).items() if not name.startswith("__")}
        public["contrib"] = _Missing()
        for each in (module, sys.modules["tensorflow"]):  # some versions put a wrapper there
            vars(each).update(public)


class _Missing:
    def __getattr__(self, name: str) -> Any:
        raise AttributeError("tf.contrib.{}: {}".format(name, _WHY.format("tf.contrib")))


def install() -> None:
    if os.environ.get("FOOTPLATE_TENSORFLOW1") != "0":
        sys.meta_path.insert(0, _Finder())


if __name__ == NAME:
    install()
