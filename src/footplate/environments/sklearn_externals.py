"""A hook inside environments with scikit-learn: `from sklearn.externals import joblib` goes on working.

scikit-learn contained copies of joblib and six until 0.23. Scripts that were written before import them from there, and
so do models that were saved before. The build copies this file into `site-packages`, with a `.pth` file that imports it
in every Python of the environment; so it uses only the standard library, and imports the rest when it is needed.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing is not imported: it takes longer than the rest
if TYPE_CHECKING:
    from typing import Any

NAME = "footplate_sklearn_externals"
_BEFORE = "sklearn.externals."
_MOVED = ("joblib", "six")


class _Finder:
    """Finds the old modules where nothing else does, and from then on before anything else.

    Otherwise their submodules would be found twice, because a package that moved has a path.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not name.startswith(_BEFORE) or name[len(_BEFORE) :].split(".")[0] not in _MOVED:
            return None
        import importlib.machinery  # noqa: PLC0415  # most processes need none of this

        sys.meta_path[:] = [self, *(finder for finder in sys.meta_path if finder is not self)]
        loader: Any = _Loader()
        return importlib.machinery.ModuleSpec(name, loader)


class _Loader:
    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        """Put the package of its own in the place of the old module."""
        import importlib  # noqa: PLC0415  # see above
        import warnings  # noqa: PLC0415

        before = str(module.__name__)
        now = before[len(_BEFORE) :]
        sys.modules[before] = importlib.import_module(now)
        if now in _MOVED:
            words = f"scikit-learn has no {before} since version 0.23, and {now} takes its place: write `import {now}`"
            warnings.warn(words, FutureWarning, stacklevel=2)


def install() -> None:
    sys.meta_path.append(_Finder())


if __name__ == NAME:
    install()
