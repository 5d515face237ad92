"""The first program of a rank: `python bootstrap.py SCRIPT ARGUMENTS…`.

Python compiles its first program at every start, so the work is in `script_runner.py`, whose bytecode is cached. That
module is neither imported nor on the path: the script's imports must not meet it.
"""

import os

if __name__ == "__main__":
    _path = os.path.join(os.path.dirname(__file__), "script_runner.py")
    exec(type(__loader__)("footplate_script_runner", _path).get_code("footplate_script_runner"))
    globals()["main"]()
