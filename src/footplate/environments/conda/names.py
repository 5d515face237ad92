"""Conda's packages in PyPI's words: a small table, the same-name rule, and what must not be guessed.

Most of conda's packages that hold Python have the name that they have on PyPI. The table has those that do not; what
holds no Python (compilers, libraries, programs, R) is refused: a package of that name on PyPI is something else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion

from footplate.environments.requirements import normalize
from footplate.errors import InvalidInput

RENAMED = {
    "dask-core": "dask",
    "faiss": "faiss-cpu",
    "keras-base": "keras",
    "keras-gpu": "keras",
    "matplotlib-base": "matplotlib",
    "msgpack-python": "msgpack",
    "numpy-base": "numpy",
    "opencv": "opencv-python-headless",
    "py-opencv": "opencv-python-headless",
    "py-xgboost": "xgboost",
    "py-xgboost-cpu": "xgboost",
    "py-xgboost-gpu": "xgboost",
    "pyqt": "PyQt5",
    "pytables": "tables",
    "python-flatbuffers": "flatbuffers",
    "python-graphviz": "graphviz",
    "python-kaleido": "kaleido",
    "pytorch": "torch",
    "pytorch-cpu": "torch",
    "pytorch-gpu": "torch",
    "seaborn-base": "seaborn",
    "tensorflow-base": "tensorflow",
    "tensorflow-eigen": "tensorflow",
    "tensorflow-gpu": "tensorflow",
    "tensorflow-mkl": "tensorflow",
    "torchtriton": "triton",
    "uvicorn-standard": "uvicorn[standard]",
}
"""Those that PyPI has under another name."""

_WITH_BUILD_DIGIT = frozenset(["opencv-python-headless"])
"""PyPI's versions have one number more: conda's 4.5.1 is 4.5.1.48 there."""

_SELECTS = "it holds nothing and only chooses between builds of others"
_CUDA = "wheels bring the CUDA libraries that they were built for, or use the machine's"
_ALGEBRA = "wheels bring their own linear algebra"
_RUNTIME = "every Python brings it along or finds it on the machine"

LEFT_OUT = {
    **dict.fromkeys(("cpuonly", "nomkl", "pytorch-mutex", "_pytorch-select", "_tflow-select"), _SELECTS),
    **dict.fromkeys(("_py-xgboost-mutex", "_libgcc-mutex", "_openmp-mutex", "python-abi", "blas"), _SELECTS),
    **dict.fromkeys(("cudatoolkit", "cudnn", "nccl", "pytorch-cuda", "cuda", "cuda-toolkit", "cuda-version"), _CUDA),
    **dict.fromkeys(("mkl", "mkl-service", "mkl-fft", "mkl-random", "mkl-include", "intel-openmp"), _ALGEBRA),
    **dict.fromkeys(("openblas", "libblas", "libcblas", "liblapack", "libopenblas", "llvm-openmp"), _ALGEBRA),
    **dict.fromkeys(("libgfortran", "libgfortran-ng", "libgfortran4", "libgfortran5", "libgomp"), _ALGEBRA),
    **dict.fromkeys(("bzip2", "ca-certificates", "ld-impl-linux-64", "libedit", "libexpat", "libffi"), _RUNTIME),
    **dict.fromkeys(("libgcc", "libgcc-ng", "libnsl", "libsqlite", "libstdcxx", "libstdcxx-ng"), _RUNTIME),
    **dict.fromkeys(("libuuid", "libxcrypt", "libzlib", "ncurses", "openssl", "readline", "sqlite"), _RUNTIME),
    **dict.fromkeys(("tk", "xz", "zlib"), _RUNTIME),
}
"""What can be done without, with the reason that the run is told."""

_PYTHON_ALL_THE_SAME = frozenset(["libcst", "librosa", "libtmux"])
"""Python packages whose names look like those of libraries."""

_NO_PYTHON = re.compile(
    r"r|r-.*|_.*|lib.*|gcc.*|gxx.*|g\+\+.*|gfortran.*|clang.*|llvm.*|.*-compilers?|compilers|binutils.*|sysroot.*|make|"
    r"cuda-.*|faiss-gpu|mkl-.*|blas-.*|openblas-.*|atlas|tbb-devel|openmpi|mpich|mpi|impi.*|"
    r"zstd|lz4-c|snappy|hdf5|netcdf4-c|expat|curl|wget|git|git-lfs|nodejs|openjdk|perl.*|ruby|go|rust|"
    r"boost|boost-cpp|qt|qt-main|qt5.*|qt6.*|geos|gdal|proj|jpeg|freetype|graphviz|ffmpeg|sox|"
    r"poppler|tesseract|pandoc|texlive.*|xorg-.*|vc|vs20.*|conda|mamba|anaconda|nltk-data|glib|gst.*|icu|fonts?-.*|arrow-cpp"
)
_SPEC = re.compile(
    r"(?:(?P<channel>[^\s\[\]=<>!~]+)::)?(?P<name>[A-Za-z0-9_][A-Za-z0-9._+-]*)\s*(?P<rest>.*)", re.DOTALL
)
_BRACKETS = re.compile(r"(?P<before>[^\[]*)\[(?P<inside>[^\]]*)\]\s*")
_VERSION = re.compile(r"(?P<op>===?|=|!=|>=|<=|>|<|~=)?\s*(?P<number>\d+(?:[.\-_+!]?[A-Za-z0-9]+)*(?:\.?\*)?)")


@dataclass(frozen=True)
class CondaSpec:
    """One line of a conda file. `version` is in PyPI's words; `build` is the build string that was given, if any."""

    text: str
    name: str
    version: str
    build: str | None = None


def parse(text: str) -> CondaSpec:
    found = _SPEC.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(f"{text!r} is not a conda package", "write it as in: numpy=1.26")
    rest, build = _brackets(found["rest"].strip())
    version = rest
    if build is None:
        version, build = _split_build(rest)
    return CondaSpec(text.strip(), found["name"].lower(), _translate(version, text), build)


def to_requirement(spec: CondaSpec) -> str | None:
    """The line for pip; None for what can be done without. Refuses, by name, what is not on PyPI under this name."""
    name = key(spec.name)
    if name in LEFT_OUT:
        return None
    if name not in RENAMED and name not in _PYTHON_ALL_THE_SAME and _NO_PYTHON.fullmatch(name):
        raise InvalidInput(
            f"the conda package {spec.text!r} is not a Python package, and without conda it cannot be installed",
            f"take {spec.name!r} out of the conda dependencies and have it installed on the machine, "
            "or make its channel reachable",
        )
    renamed = RENAMED.get(name, spec.name)
    exact = re.fullmatch(r"==[^*,]+", spec.version) is not None and renamed in _WITH_BUILD_DIGIT
    return f"{renamed}{spec.version}{'.*' if exact else ''}"


def key(name: str) -> str:
    """As the tables here have it: an underscore at the beginning means something, between words it does not."""
    return f"_{normalize(name[1:])}" if name.startswith("_") else normalize(name)


def on_pypi(name: str) -> str:
    """What a conda package that holds Python is called on PyPI, normalised."""
    return normalize(RENAMED.get(normalize(name), name).split("[", 1)[0])


def admits(line: str, version: str) -> bool:
    """Whether a line of requirements is met by this version; one that cannot be compared is left to pip."""
    try:
        wanted = Requirement(line)
        return wanted.url is None and wanted.specifier.contains(version, prereleases=True)
    except (InvalidRequirement, InvalidVersion):
        return False


def _brackets(rest: str) -> tuple[str, str | None]:
    """`[version='>=1', build=x]`, conda's long form."""
    found = _BRACKETS.fullmatch(rest)
    if found is None:
        return rest, None
    pairs = dict(re.findall(r"(\w+)\s*=\s*['\"]?([^'\",]*(?:,[^'\"=]*)?)['\"]?", found["inside"]))
    return pairs.get("version", found["before"].strip()), pairs.get("build")


def _split_build(rest: str) -> tuple[str, str | None]:
    """`=1.2=py38_0` and `1.2 py38_0` have a build string behind the version."""
    found = re.fullmatch(r"(=?[^=<>!~\s,|]+)(?:=|\s+)([^=<>!~,|\s]+)", rest)
    return (found[1], found[2]) if found else (rest, None)


def _translate(version: str, text: str) -> str:
    """`=1.2` is any 1.2, and so is a version of one `=`; two mean exactly this one."""
    version = version.strip()
    if version in ("", "*", "=*"):
        return ""
    if "|" in version:
        raise InvalidInput(f"{text!r} leaves the choice of versions with '|', which pip cannot", "choose one of them")
    return ",".join(_translate_one(part.strip(), text) for part in version.split(","))


def _translate_one(part: str, text: str) -> str:
    found = _VERSION.fullmatch(part)
    if found is None:
        raise InvalidInput(f"{text!r} has a version that cannot be read: {part!r}", "write it as in: numpy=1.26")
    op, number = found["op"], found["number"]
    star = number.endswith("*")
    number = number.rstrip("*").rstrip(".")
    if op in (">=", "<=", ">", "<", "~=", "===") or (op == "!=" and not star):
        return f"{op}{number}"
    if op == "!=":
        return f"!={number}.*"
    exact = op == "==" or (op is None and not star)
    return f"=={number}" if exact and not star else f"=={number}.*"
