"""Compile Python files to bytecode. The interpreter that the bytecode is for runs this file alone, so Python 3.8
syntax.

Standard input has one `source<TAB>target` per line. A file that cannot be compiled (a template, syntax of another
version) gets no bytecode, as with pip. With `--tag`, print the kind of bytecode: `cache tag<TAB>magic number`.
"""

import importlib.util
import os
import py_compile
import sys

TIMESTAMP = py_compile.PycInvalidationMode.TIMESTAMP


def main() -> None:
    if "--tag" in sys.argv:
        sys.stdout.write(f"{sys.implementation.cache_tag}\t{importlib.util.MAGIC_NUMBER.hex()}\n")
        return
    for line in sys.stdin:
        source, target = line.rstrip("\n").split("\t")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        # Quiet and explicit: neither PYTHONDONTWRITEBYTECODE nor SOURCE_DATE_EPOCH may change the result.
        py_compile.compile(source, target, doraise=False, quiet=2, invalidation_mode=TIMESTAMP)


if __name__ == "__main__":
    main()
