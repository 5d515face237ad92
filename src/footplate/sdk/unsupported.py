"""Parts of Azure's SDK that Footplate does not have. Importing or calling one raises an error that names an
alternative."""

from __future__ import annotations

from typing import Any, Callable, NoReturn

from footplate.sdk.exceptions import UserErrorException

PARTS = {
    "azureml.pipeline": (
        "has no pipelines",
        "submit one run after another; run.submit_child(config) groups them under one run",
    ),
    "azureml.train.automl": (
        "has no automated model selection",
        "submit your own training script with ScriptRunConfig",
    ),
}


_DOC = """Raise an error: {why}.

Args:
    *args, **kwargs: Ignored.

Raises:
    UserErrorException: Always. The hint: {hint}.

Example:
    try:
        {variable}.{name}()
    except UserErrorException as error:
        print(error.hint)
"""


def absent(module: str) -> NoReturn:
    what, hint = PARTS[module]
    raise ImportError(f"{module} is not available: Footplate {what}\nhint: {hint}", name=module)


def refused(owner: str, variable: str, name: str, why: str, hint: str) -> Callable[..., NoReturn]:
    """Return a method that raises an error about itself; `variable` stands for the object in its example."""

    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise UserErrorException(f"{owner}.{name} is not available: {why}", hint=hint)

    method.__name__ = name
    method.__doc__ = _DOC.format(variable=variable, name=name, why=why, hint=hint)
    return method
