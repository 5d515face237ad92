"""Filter expressions, computed on the arrays of a batch.

Missing values behave as in pandas: a comparison with one is false (and `!=` is true), so that a row is kept by exactly
one of an expression and its negation. NaN is a missing value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timezone
from typing import Any

from footplate.data.tabular.arrow import pa, pc
from footplate.data.tabular.convert import iso_time
from footplate.domain.tabular import ARITHMETIC, COMPARISONS, TEXT_TESTS, Expression, time_of
from footplate.errors import InvalidInput

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_TEXT: dict[str, Callable[..., Any]] = {
    "starts_with": pc.starts_with,
    "ends_with": pc.ends_with,
    "contains": pc.match_substring,
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def evaluate(expression: Expression, columns: Mapping[str, Any], rows: int) -> Any:
    """A boolean array, without nulls, that says which of the `rows` the expression keeps."""
    found = _truth(expression, columns)
    if isinstance(found, pa.Scalar):  # nothing but constants
        return pa.array([bool(found.as_py())] * rows, pa.bool_())
    return found


def _truth(expression: Expression, columns: Mapping[str, Any]) -> Any:
    operation, *operands = expression
    if operation == "and":
        return pc.and_(*(_truth(part, columns) for part in operands))
    if operation == "or":
        return pc.or_(*(_truth(part, columns) for part in operands))
    if operation == "not":
        return pc.invert(_truth(operands[0], columns))
    if operation in COMPARISONS:
        return _compare(operation, operands[0], operands[1], columns)
    if operation in TEXT_TESTS:
        return _text_test(operation, operands[0], str(operands[1][1]), columns)
    if operation == "is_null":
        return pc.is_null(_value(operands[0], columns), nan_is_null=True)
    if operation == "in":
        return _membership(operands[0], operands[1], columns)
    return _flag(expression, columns)


def _flag(expression: Expression, columns: Mapping[str, Any]) -> Any:
    """A column of booleans stands for itself."""
    value = _value(expression, columns)
    if not pa.types.is_boolean(value.type):
        raise InvalidInput(
            f"{_shown(expression)} is {value.type} and says neither yes nor no",
            "compare it with something, as in dataset['NAME'] > 3",
        )
    return pc.fill_null(value, False)


def _compare(operation: str, left: Expression, right: Expression, columns: Mapping[str, Any]) -> Any:
    if right == ["value", None] or left == ["value", None]:
        return _compare_null(operation, left if right == ["value", None] else right, columns)
    if left[0] in ("value", "datetime") and right[0] not in ("value", "datetime"):
        return _compare(_MIRRORED[operation], right, left, columns)
    first = _value(left, columns)
    try:
        first, second = _alike(first, right, columns)
        found = _COMPARE[operation](first, second)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise InvalidInput(
            f"{_shown(left)} is {first.type} and cannot be compared with {_shown(right)}",
            "compare numbers with numbers and text with text, or set the column's type with set_column_types",
        ) from None
    return pc.fill_null(found, operation == "!=")


def _compare_null(operation: str, operand: Expression, columns: Mapping[str, Any]) -> Any:
    if operation not in ("==", "!="):
        raise InvalidInput(f"nothing is {operation} None", "use == None or != None, or is_null()")
    missing = pc.is_null(_value(operand, columns), nan_is_null=True)
    return missing if operation == "==" else pc.invert(missing)


def _alike(first: Any, operand: Expression, columns: Mapping[str, Any]) -> tuple[Any, Any]:
    """Both sides in types that Arrow compares."""
    if pa.types.is_dictionary(first.type):
        first = first.dictionary_decode()
    if pa.types.is_decimal(first.type):
        first = pc.cast(first, pa.float64())
    if pa.types.is_date(first.type):
        first = pc.cast(first, pa.timestamp("us"))
    if pa.types.is_timestamp(first.type) and operand[0] in ("value", "datetime"):
        return first, _time(operand, first.type)
    second = _value(operand, columns)
    if pa.types.is_null(first.type):
        first = pc.cast(first, second.type)
    return first, second


def _time(operand: Expression, wanted: Any) -> Any:
    """A time, also one written as text, as a scalar of the column's own type."""
    moment = time_of(operand) if operand[0] == "datetime" else iso_time(str(operand[1]))
    if moment is None:
        raise pa.ArrowInvalid("not a time")
    return pa.scalar(moment.replace(tzinfo=timezone.utc) if wanted.tz else moment, pa.timestamp("us", wanted.tz))


def _text_test(operation: str, operand: Expression, text: str, columns: Mapping[str, Any]) -> Any:
    value = _value(operand, columns)
    if not (pa.types.is_string(value.type) or pa.types.is_large_string(value.type)):
        raise InvalidInput(
            f"{_shown(operand)} is {value.type}, and {operation} is for text",
            "set the column's type: set_column_types={'NAME': DataType.to_string()}",
        )
    return pc.fill_null(_TEXT[operation](value, pattern=text), False)


def _membership(operand: Expression, choices: list[Expression], columns: Mapping[str, Any]) -> Any:
    found: Any = None
    for choice in choices:
        one = _compare("==", operand, choice, columns)
        found = one if found is None else pc.or_(found, one)
    if found is None:
        return pc.and_(pc.is_null(_value(operand, columns)), pa.scalar(False))
    return found


def _value(expression: Expression, columns: Mapping[str, Any]) -> Any:
    operation, *operands = expression
    if operation == "column":
        return _column(operands[0], columns)
    if operation == "datetime":
        return pa.scalar(time_of(expression), pa.timestamp("us"))
    if operation == "value":
        return _scalar(operands[0])
    if operation == "length":
        return pc.utf8_length(_value(operands[0], columns))
    if operation in ARITHMETIC:
        return _arithmetic(operation, operands, columns)
    return _truth(expression, columns)


def _column(name: str, columns: Mapping[str, Any]) -> Any:
    if name not in columns:
        raise no_column(name, columns)
    return columns[name]


def _scalar(value: Any) -> Any:
    try:
        return pa.scalar(value)
    except OverflowError:
        return pa.scalar(float(value))


def _arithmetic(operation: str, operands: list[Expression], columns: Mapping[str, Any]) -> Any:
    left, right = (_value(operand, columns) for operand in operands)
    try:
        if operation == "/":
            return pc.divide(pc.cast(left, pa.float64()), pc.cast(right, pa.float64()))
        return {"+": pc.add, "-": pc.subtract, "*": pc.multiply}[operation](left, right)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidInput(
            f"{_shown(operands[0])} ({left.type}) {operation} {_shown(operands[1])} ({right.type}) cannot be computed",
            "compute with numbers, or set the columns' types with set_column_types",
        ) from None


def no_column(name: str, columns: Mapping[str, Any] | list[str]) -> InvalidInput:
    names = list(columns)
    shown = ", ".join(map(repr, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return InvalidInput(f"there is no column {name!r}", f"the columns are {shown}")


def _shown(expression: Expression) -> str:
    if expression[0] == "column":
        return f"column {expression[1]!r}"
    return repr(expression[1]) if expression[0] in ("value", "datetime") else "the expression"
