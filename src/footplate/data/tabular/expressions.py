"""Evaluation of filter expressions (`domain.tables`) on the arrays of a batch.

Missing values behave as in pandas: a comparison with one is false (and `!=` is true), so exactly one of an expression
and its negation keeps a row. NaN is a missing value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timezone
from typing import Any, Mapping, cast

from footplate.data.tabular.arrow import pa, pc
from footplate.data.tabular.convert import iso_time
from footplate.domain.tables import ARITHMETIC, COMPARISONS, TEXT_TESTS, Expression, moment
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
_FEW = 8  # up to this many comparisons are as fast as a set lookup
_NOTHING: Expression = {"value": None}
Columns = Mapping[str, Any]


def evaluate(expression: Expression, columns: Columns, rows: int) -> Any:
    """Return a boolean array without nulls that tells which of the `rows` the expression keeps."""
    mask = _truth(expression, columns)
    if isinstance(mask, pa.Scalar):  # only constants
        return pa.array([bool(mask.as_py())] * rows, pa.bool_())
    return mask


def _truth(expression: Expression, columns: Columns) -> Any:
    operation: str = expression.get("op", "")
    args: list[Expression] = expression.get("args", [])
    if operation in ("and", "or"):
        join = pc.and_ if operation == "and" else pc.or_
        return join(*(_truth(part, columns) for part in args))
    if operation == "not":
        return pc.invert(_truth(args[0], columns))
    if operation in COMPARISONS:
        return _compare(operation, args[0], args[1], columns)
    if operation in TEXT_TESTS:
        return _text_test(operation, args[0], args[1], columns)
    if operation == "is_null":
        return pc.is_null(_value(args[0], columns), nan_is_null=True)
    if operation == "isin":
        return _membership(args[0], args[1]["value"], columns)
    return _flag(expression, columns)


def _flag(expression: Expression, columns: Columns) -> Any:
    """Evaluate a boolean column by itself."""
    value = _value(expression, columns)
    if not pa.types.is_boolean(value.type):
        raise InvalidInput(
            f"{_describe(expression)} is {value.type}, not boolean",
            "compare it with a value, as in dataset['NAME'] > 3",
        )
    return pc.fill_null(value, False)


def _compare(operation: str, left: Expression, right: Expression, columns: Columns) -> Any:
    if _NOTHING in (left, right):
        return _compare_null(operation, left if right == _NOTHING else right, columns)
    if _is_constant(left) and not _is_constant(right):
        return _compare(_MIRRORED[operation], right, left, columns)
    first = _value(left, columns)
    try:
        first, second = _alike(first, right, columns)
        mask = _COMPARE[operation](first, second)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise InvalidInput(
            f"{_describe(left)} is {first.type} and cannot be compared with {_describe(right)}",
            "compare numbers with numbers and text with text, or set the column's type with set_column_types",
        ) from None
    return pc.fill_null(mask, operation == "!=")


def _compare_null(operation: str, operand: Expression, columns: Columns) -> Any:
    if operation not in ("==", "!="):
        raise InvalidInput(f"{operation} cannot compare with None", "use == None or != None, or is_null()")
    missing = pc.is_null(_value(operand, columns), nan_is_null=True)
    return missing if operation == "==" else pc.invert(missing)


def _is_constant(expression: Expression) -> bool:
    return "value" in expression or "time" in expression


def _alike(first: Any, operand: Expression, columns: Columns) -> tuple[Any, Any]:
    """Return both sides in types that Arrow can compare."""
    first = _comparable(first)
    if pa.types.is_timestamp(first.type) and _is_constant(operand):
        return first, _time(operand, first.type)
    second = _comparable(_value(operand, columns))
    if pa.types.is_null(first.type):
        first = pc.cast(first, second.type)
    return first, second


def _comparable(values: Any) -> Any:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_decimal(values.type):
        return pc.cast(values, pa.float64())
    if pa.types.is_float16(values.type):
        return pc.cast(values, pa.float32())
    return pc.cast(values, pa.timestamp("us")) if pa.types.is_date(values.type) else values


def _time(operand: Expression, wanted: Any) -> Any:
    """Return a time, possibly written as text, as a scalar that can be compared with the column's type."""
    time = moment(operand) if "time" in operand else iso_time(str(operand["value"]))
    if time is None:
        raise pa.ArrowInvalid("not a time")
    return pa.scalar(time.replace(tzinfo=timezone.utc) if wanted.tz else time, pa.timestamp("us", wanted.tz))


def _text_test(operation: str, operand: Expression, sought: Expression, columns: Columns) -> Any:
    text = sought.get("value")
    if not isinstance(text, str):
        raise InvalidInput(f"{operation} needs text, not {_describe(sought)}", f"give text: {operation}('A')")
    return pc.fill_null(_TEXT[operation](_text(operation, operand, columns), pattern=text), False)


def _text(operation: str, operand: Expression, columns: Columns) -> Any:
    value = _comparable(_value(operand, columns))
    if not (pa.types.is_string(value.type) or pa.types.is_large_string(value.type)):
        raise InvalidInput(
            f"{_describe(operand)} is {value.type}, but {operation} needs text",
            "set the column's type: set_column_types={'NAME': DataType.to_string()}",
        )
    return value


def _membership(operand: Expression, choices: Sequence[Any], columns: Columns) -> Any:
    values = _comparable(_value(operand, columns))
    non_null = [choice for choice in choices if choice is not None]
    if len(non_null) > _FEW and not isinstance(values, pa.Scalar) and _are_of(values.type, non_null):
        wide = pc.cast(values, pa.float64()) if pa.types.is_floating(values.type) else values
        mask = pc.is_in(wide, value_set=pa.array(non_null, wide.type))
        missing = _compare_null("==", operand, columns) if len(non_null) < len(choices) else False
        return pc.or_(mask, missing)
    mask = pc.and_(pc.is_null(_value(operand, columns)), pa.scalar(False))  # all false, with the column's length
    for choice in choices:
        constant = cast("Expression", choice) if isinstance(choice, dict) else {"value": choice}
        mask = pc.or_(mask, _compare("==", operand, constant, columns))
    return mask


def _are_of(kind: Any, choices: Sequence[Any]) -> bool:
    """Return whether one set lookup can compare all choices with such a column."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return all(isinstance(choice, str) for choice in choices)
    if pa.types.is_int64(kind):
        return all(type(choice) is int and -(2**63) <= choice < 2**63 for choice in choices)
    return pa.types.is_floating(kind) and all(type(choice) in (int, float) for choice in choices)


def _value(expression: Expression, columns: Columns) -> Any:
    if "field" in expression:
        name = str(expression["field"])
        if name not in columns:
            raise no_column(name, list(columns))
        return columns[name]
    if "time" in expression:
        return pa.scalar(moment(expression), pa.timestamp("us"))
    if "value" in expression:
        return _scalar(expression["value"])
    if expression.get("op") == "length":
        return pc.utf8_length(_text("length", expression["args"][0], columns))
    if expression.get("op") in ARITHMETIC:
        return _arithmetic(expression["op"], expression["args"], columns)
    if "op" not in expression or expression["op"] not in _KNOWN:
        raise InvalidInput(f"{expression.get('op')!r} is not an operator", f"use {' '.join(sorted(_KNOWN))}")
    return _truth(expression, columns)


_KNOWN = {*COMPARISONS, *TEXT_TESTS, *ARITHMETIC, "and", "or", "not", "isin", "is_null", "length"}


def _scalar(value: Any) -> Any:
    try:
        return pa.scalar(value)
    except OverflowError:
        return pa.scalar(float(value))


def _arithmetic(operation: str, operands: Sequence[Expression], columns: Columns) -> Any:
    first, second = (_comparable(_value(operand, columns)) for operand in operands)
    try:
        if operation == "/":
            return pc.divide(pc.cast(first, pa.float64()), pc.cast(second, pa.float64()))
        return {"+": pc.add, "-": pc.subtract, "*": pc.multiply}[operation](first, second)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidInput(
            f"{_describe(operands[0])} ({first.type}) {operation} {_describe(operands[1])} ({second.type})"
            " cannot be computed",
            "compute with numbers, or set the columns' types with set_column_types",
        ) from None


def no_column(name: str, names: Sequence[str]) -> InvalidInput:
    listing = ", ".join(map(repr, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return InvalidInput(f"the column {name!r} does not exist", f"the columns are {listing}")


def _describe(expression: Expression) -> str:
    if "field" in expression:
        return f"column {expression['field']!r}"
    return repr(expression.get("value", expression.get("time"))) if _is_constant(expression) else "the expression"
