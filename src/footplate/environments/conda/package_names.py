"""Conda packages under their PyPI names: a small table, the same-name rule, and names that must not be guessed.

Most conda packages that contain Python have the same name on PyPI. The table has the exceptions; packages without
Python (compilers, libraries, programs, R) are refused, because a package of that name on PyPI is something else.

`lock` resolves a conda file this way, without conda; a warning lists the packages that come from PyPI.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion

from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings, Say
from footplate.environments.python_choice import lock_requirements
from footplate.environments.requirements import conda_lines, is_azureml, normalize
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
"""Packages that have another name on PyPI."""

_WITH_BUILD_DIGIT = frozenset(["opencv-python-headless"])
"""Packages whose version has one more number on PyPI: conda's 4.5.1 is 4.5.1.48 there."""

_SELECTS = "it is empty and only chooses between builds of other packages"
_CUDA = "wheels contain the CUDA libraries that they were built for, or use the machine's"
_ALGEBRA = "wheels contain their own linear algebra libraries"
_RUNTIME = "every Python includes it or uses the machine's"

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
"""Packages that are not needed, with the reason for the warning."""

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
_VERSION = re.compile(
    r"(?P<op>===?|=|!=|>=|<=|>|<|~=)?\s*(?P<number>\d[A-Za-z0-9]*(?:[.\-_+!][A-Za-z0-9]+)*(?:\.?\*)?)"
)


@dataclass(frozen=True)
class CondaSpec:
    """One line of a conda file. `version` is in PyPI's syntax; `build` is the build string, if one was given."""

    text: str
    name: str
    version: str
    build: str | None = None


def parse(text: str) -> CondaSpec:
    match = _SPEC.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"{text!r} is not a conda package", "write it as in: numpy=1.26")
    rest, build = _brackets(match["rest"].strip())
    version = rest
    if build is None:
        version, build = _split_build(rest)
    return CondaSpec(text.strip(), match["name"].lower(), _translate(version, text), build)


def to_requirement(spec: CondaSpec) -> str | None:
    """Return the line for pip, or None for a package that is not needed. Raises InvalidInput for one that is not on
    PyPI."""
    name = key(spec.name)
    if name in LEFT_OUT:
        return None
    if name not in RENAMED and name not in _PYTHON_ALL_THE_SAME and _NO_PYTHON.fullmatch(name):
        raise InvalidInput(
            f"the conda package {spec.text!r} is not a Python package, and without conda it cannot be installed",
            f"remove {spec.name!r} from the conda dependencies and install it on the machine, "
            "or make its channel reachable",
        )
    renamed = RENAMED.get(name, spec.name)
    exact = re.fullmatch(r"==[^*,]+", spec.version) is not None and renamed in _WITH_BUILD_DIGIT
    return f"{renamed}{spec.version}{'.*' if exact else ''}"


def key(name: str) -> str:
    """Return the name as the tables spell it: a leading underscore is significant, other separators are not."""
    return f"_{normalize(name[1:])}" if name.startswith("_") else normalize(name)


def on_pypi(name: str) -> str:
    """Return the normalized PyPI name of a conda package that contains Python."""
    return normalize(RENAMED.get(normalize(name), name).split("[", 1)[0])


def admits(line: str, version: str) -> bool:
    """Whether this version satisfies a requirement; one that cannot be compared is left to pip."""
    try:
        requirement = Requirement(line)
        return requirement.url is None and requirement.specifier.contains(version, prereleases=True)
    except (InvalidRequirement, InvalidVersion):
        return False


def _brackets(rest: str) -> tuple[str, str | None]:
    """Parse conda's long form, `[version='>=1', build=x]`."""
    match = _BRACKETS.fullmatch(rest)
    if match is None:
        return rest, None
    pairs = dict(re.findall(r"(\w+)\s*=\s*['\"]?([^'\",]*(?:,[^'\"=]*)?)['\"]?", match["inside"]))
    return pairs.get("version", match["before"].strip()), pairs.get("build")


def _split_build(rest: str) -> tuple[str, str | None]:
    """Split off the build string of `=1.2=py38_0` and `1.2 py38_0`."""
    match = re.fullmatch(r"(=?[^=<>!~\s,|]+)(?:=|\s+)([^=<>!~,|\s]+)", rest)
    return (match[1], match[2]) if match else (rest, None)


def _translate(version: str, text: str) -> str:
    """Translate a version: `=1.2` means any 1.2, `==1.2` exactly this one."""
    version = version.strip()
    if version in ("", "*", "=*"):
        return ""
    if "|" in version:
        raise InvalidInput(
            f"{text!r} offers several versions with '|', which pip does not support", "choose one of them"
        )
    return ",".join(_translate_one(part.strip(), text) for part in version.split(","))


def _translate_one(part: str, text: str) -> str:
    match = _VERSION.fullmatch(part)
    if match is None:
        raise InvalidInput(f"{text!r} has an invalid version: {part!r}", "write it as in: numpy=1.26")
    op, number = match["op"], match["number"]
    star = number.endswith("*")
    number = number.rstrip("*").rstrip(".")
    if op in (">=", "<=", ">", "<", "~=", "===") or (op == "!=" and not star):
        return f"{op}{number}"
    if op == "!=":
        return f"!={number}.*"
    exact = op == "==" or (op is None and not star)
    return f"=={number}" if exact and not star else f"=={number}.*"


BUILDER = "conda"
MAPPED_TO_PYPI = "conda packages are installed from PyPI: "


@dataclass
class Mapping:
    """The result for one conda file: a Python, lines for pip, and warnings."""

    python: str | None = None
    requirements: list[str] = field(default_factory=lambda: [])
    mapped: list[str] = field(default_factory=lambda: [])
    dropped: list[str] = field(default_factory=lambda: [])

    def warnings(self) -> tuple[str, ...]:
        mapped = [MAPPED_TO_PYPI + ", ".join(self.mapped)] if self.mapped else []
        return (*mapped, *self.dropped)


def lock(spec: EnvironmentSpec, settings: ResolverSettings, say: Say) -> Lock:
    mapping = map_packages(conda_lines(spec, "dependencies"))
    for line in mapping.warnings():
        say(line)
    lines = [*spec.requirements, *mapping.requirements, *conda_lines(spec, "pip")]
    chosen = replace(spec, python=mapping.python or spec.python)
    locked = lock_requirements(BUILDER, lines, chosen, settings, say)
    return replace(locked, warnings=(*mapping.warnings(), *locked.warnings))


def map_packages(dependencies: Sequence[str]) -> Mapping:
    mapping = Mapping()
    for text in dependencies:
        spec = parse(text)
        if spec.name == "python":
            mapping.python = spec.version or None
            continue
        line = spec.text if is_azureml(spec.name) else to_requirement(spec)
        if line is None:
            mapping.dropped.append(f"{spec.text} is left out: {LEFT_OUT[key(spec.name)]}")
            continue
        mapping.requirements.append(line)
        mapping.mapped.append(line if line == spec.text else f"{spec.text} → {line}")
        if spec.build is not None:
            mapping.dropped.append(f"the build {spec.build!r} of {spec.text} is ignored: PyPI has no such builds")
    return mapping
