"""Errors for arguments of the wrong type, in place of the raw exceptions that they cause deep in the SDK.

`explained` decorates the public classes and functions. A call that succeeds pays nothing: only after a raw exception
are the arguments compared with the annotations, and the first that does not fit is named. Values that work although
they are not as annotated, such as a `Path` for a string, are never refused.
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Mapping

from footplate.errors import FootplateError
from footplate.lazy import Deferred
from footplate.sdk.exceptions import AzureMLException, UserErrorException

TYPE_CHECKING = False  # not typing's own: only calls that fail need typing
if TYPE_CHECKING:
    import inspect
    import typing
    from typing import Any, Callable, Iterator, Optional, Sequence, Tuple, TypeVar

    T = TypeVar("T")
    Misfit = Optional[Tuple[str, Any, Any]]
    """The place of a value that does not fit, the value, and the type that is wanted."""
else:
    inspect = Deferred("inspect")
    typing = Deferred("typing")

RAW = (AttributeError, LookupError, TypeError, ValueError, OverflowError, SyntaxError)
"""Exceptions that Python raises when a value is not of the expected type."""

_PLAIN = {str: "a string", int: "a whole number", float: "a number", bool: "True or False", bytes: "bytes"}
_LONGEST = 200
_GENERATOR = 0x20  # inspect.CO_GENERATOR; importing inspect takes 10 ms


def explained(thing: T) -> T:
    """Decorate a function, or all public methods of a class, so that arguments of a wrong type are named."""
    if not isinstance(thing, type):
        return _wrap(thing)
    for name, member in list(vars(thing).items()):
        if name.startswith("_") and name not in ("__init__", "__new__"):
            continue
        if type(member) in (staticmethod, classmethod):
            setattr(thing, name, type(member)(_wrap(member.__func__)))
        elif isinstance(member, types.FunctionType):
            setattr(thing, name, _wrap(member))
    return thing


def _wrap(function: Any) -> Any:
    if function.__code__.co_flags & _GENERATOR:

        @functools.wraps(function)
        def iterate(*args: Any, **kwargs: Any) -> Iterator[Any]:
            try:
                yield from function(*args, **kwargs)
            except RAW as error:
                _explain(function, args, kwargs, error)
                raise

        return iterate

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except RAW as error:
            _explain(function, args, kwargs, error)
            raise

    return call


def _explain(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception) -> None:
    """Raise WrongTypeException if an argument is not as annotated, UserErrorException if it is no path."""
    if isinstance(error, (AzureMLException, FootplateError)) or "hint:" in str(error):
        return
    try:
        arguments = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:  # too many or too few arguments: Python's own message names them
        return
    for name, value in arguments.items():
        kind = _annotation(function, name)
        misfit = _misfit(name, value, kind)
        if misfit is not None:
            where, wrong, instead = misfit
            hint = f"give {_describe(instead)}"
            raise WrongTypeException(f"{where} is {abbreviate(wrong)}", error, hint=hint) from error
    for name, value in arguments.items():
        if isinstance(value, str) and "\0" in value:  # Python's error does not name the path that has it
            hint = "remove the NUL character"
            raise UserErrorException(f"{name} is {abbreviate(value)}", error, hint=hint) from error


def type_words(value: object) -> str:
    """Return the name of the value's type with an article: "a list"."""
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def abbreviate(value: object) -> str:
    """Return the value as it stands in a message; long ones are cut."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


class WrongTypeException(UserErrorException, TypeError):
    """An argument of the wrong type. Code that catches Python's TypeError catches it too."""


class _Names(dict):  # type: ignore[type-arg]  # pyright: ignore[reportMissingTypeArgument]
    """Names in an annotation. A class that is only imported for type checkers becomes a placeholder of its name."""

    def __missing__(self, name: str) -> Any:
        value = getattr(builtins, name, None) or getattr(typing, name, None)
        return value or type(name, (), {"__placeholder__": True})


def _annotation(function: Callable[..., Any], name: str) -> Any:
    text = getattr(function, "__annotations__", {}).get(name, typing.Any)
    if not isinstance(text, str):
        return text
    try:
        return eval(text, {}, _Names(getattr(function, "__globals__", {})))  # our own annotations
    except TypeError:  # generics that this Python cannot subscript
        return typing.Any


def _misfit(where: str, value: Any, kind: Any) -> Misfit:
    origin = typing.get_origin(kind)
    if _is_union(origin):
        return _union_misfit(where, value, typing.get_args(kind))
    if isinstance(origin, type):
        return _container_misfit(where, value, kind, origin)
    return None if _fits(value, kind) else (where, value, kind)


def _is_union(origin: Any) -> bool:
    return origin is typing.Union or origin is getattr(types, "UnionType", typing.Union)  # X | Y since Python 3.10


def _union_misfit(where: str, value: Any, choices: Sequence[Any]) -> Misfit:
    misfits = [_misfit(where, value, each) for each in choices]
    if not all(misfits):
        return None
    inner = [each for each in misfits if each and each[0] != where]  # a list with one wrong item is nearly right
    if inner:
        return inner[0]
    return where, value, typing.Union[tuple(choices)]


def _container_misfit(where: str, value: Any, expected: Any, origin: type) -> Misfit:
    if not isinstance(value, origin) or isinstance(value, (str, bytes)):
        return where, value, expected
    inner = typing.get_args(expected)
    if origin is tuple and Ellipsis not in inner:
        pairs = zip(range(len(inner)), typing.cast("Sequence[Any]", value), inner)
        misfits = (_misfit(f"{where}[{index}]", each, kind) for index, each, kind in pairs)
        return (where, value, expected) if len(value) != len(inner) else next(filter(None, misfits), None)
    if isinstance(value, Mapping):
        pairs = typing.cast("Mapping[Any, Any]", value).items()
        items = [(f"a key of {where}", key, inner[:1]) for key, _ in pairs]
        items += [(f"{where}[{abbreviate(key)}]", each, inner[1:2]) for key, each in pairs]
    elif isinstance(value, (list, tuple)):
        items = [
            (f"{where}[{index}]", each, inner[:1]) for index, each in enumerate(typing.cast("Sequence[Any]", value))
        ]
    else:
        items = []
    return next((misfit for at, each, kind in items if kind and (misfit := _misfit(at, each, kind[0]))), None)


def _fits(value: Any, kind: Any) -> bool:
    if kind is None or kind is type(None):
        return value is None
    if isinstance(kind, typing.ForwardRef):
        return kind.__forward_arg__.split("[")[0] in _kinds(value)
    if kind is typing.Any or not isinstance(kind, type):
        return True  # type variables, and kinds that cannot be checked
    if getattr(kind, "__placeholder__", False):
        return kind.__name__ in _kinds(value)
    if kind in (int, float):  # numbers of numpy count too
        return hasattr(value, "__index__" if kind is int else "__float__") and not isinstance(value, bool)
    return isinstance(value, kind)


def _kinds(value: Any) -> Sequence[str]:
    return [kind.__name__ for kind in type(value).__mro__]


def _describe(kind: Any) -> str:
    """Return the type in words: "a string", "a list of strings", "a Workspace"."""
    if _is_union(typing.get_origin(kind)):
        choices = [_describe(each) for each in typing.get_args(kind) if each is not type(None)]
        return " or ".join(dict.fromkeys(choices))
    origin = typing.get_origin(kind)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a dictionary"
    if isinstance(origin, type):
        inner = [_PLAIN[each][2:] + "s" for each in typing.get_args(kind) if each is str]
        return f"a list of {inner[0]}" if inner else "a list"
    if isinstance(kind, typing.ForwardRef):
        return f"a {kind.__forward_arg__}"
    name = getattr(kind, "__name__", str(kind)).replace("Handle", "")  # users know the derived class
    return _PLAIN.get(kind, f"an {name}" if name[:1] in "AEIOU" else f"a {name}")
