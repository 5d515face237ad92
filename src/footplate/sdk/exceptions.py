"""Azure's exceptions, and the one place where the server's errors become them.

AzureMLException                       .message .inner_exception .hint
├── UserErrorException                 the request cannot be fulfilled as it stands
│   ├── AuthenticationException
│   └── DatasetValidationError · DatasetExecutionError
├── ServiceException                   .status_code; errors of the server that no other class names
├── WorkspaceException · ProjectSystemException · SnapshotException · RunEnvironmentException
├── ComputeTargetException · RunConfigurationException · TrainingException · ExperimentExecutionException
├── ActivityFailedException · ActivityCanceledException
├── WebserviceException                .status_code
├── ModelNotFoundException · ModelPathNotFoundException · DiscoveryUrlNotFoundException
└── DatasetTimestampMissingError · ParallelRunException · AzureMLAggregatedException
"""

from __future__ import annotations

import json
from typing import Any, List, Mapping, Optional, Type

from footplate.errors import FootplateError
from footplate.sdk import notebooks


class AzureMLException(Exception):
    """The base class. `str(error)` has the frame of Azure's SDK, with the hint below the message."""

    code: Optional[str] = None
    """The error code in the frame, for classes that have one."""

    def __init__(
        self,
        exception_message: str = "",
        inner_exception: Optional[BaseException] = None,
        *,
        hint: Optional[str] = None,
        **_ignored: Any,
    ) -> None:
        super().__init__(exception_message)
        self.message = exception_message
        self.inner_exception = inner_exception
        self.hint = hint

    @property
    def message_with_hint(self) -> str:
        """The message and the hint without Azure's frame, for logs and for the error of a run."""
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message

    def __str__(self) -> str:
        details = {"code": self.code, "message": self.message} if self.code else {"message": self.message}
        return (
            f"{type(self).__name__}:\n\tMessage: {self.message_with_hint}\n\tInnerException {self.inner_exception!r}"
            f"\n\tErrorResponse \n{json.dumps({'error': details}, indent=4)}"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r})"

    def _render_traceback_(self) -> List[str]:
        """Return what IPython prints: the user's own lines, message and hint. Frames of libraries would bury them."""
        return notebooks.short_traceback(self, self.message_with_hint)


class UserErrorException(AzureMLException):
    code = "UserError"


class AuthenticationException(UserErrorException):
    pass


class DatasetValidationError(UserErrorException):
    """A file or table that a dataset names does not exist or cannot be read."""


class DatasetExecutionError(UserErrorException):
    """Reading a dataset failed halfway."""


class _WithStatus(AzureMLException):
    def __init__(
        self,
        exception_message: str = "",
        inner_exception: Optional[BaseException] = None,
        *,
        status_code: Optional[int] = None,
        hint: Optional[str] = None,
        **ignored: Any,
    ) -> None:
        super().__init__(exception_message, inner_exception, hint=hint, **ignored)
        self.status_code = status_code


class ServiceException(_WithStatus):
    pass


class WebserviceException(_WithStatus):
    pass


class TrainingException(AzureMLException):
    pass


class ExperimentExecutionException(AzureMLException):
    pass


class ProjectSystemException(AzureMLException):
    pass


class SnapshotException(AzureMLException):
    pass


class RunEnvironmentException(AzureMLException):
    pass


class WorkspaceException(AzureMLException):
    pass


class ComputeTargetException(AzureMLException):
    pass


class RunConfigurationException(AzureMLException):
    pass


class ModelNotFoundException(AzureMLException):
    pass


class ModelPathNotFoundException(AzureMLException):
    pass


class DiscoveryUrlNotFoundException(AzureMLException):
    pass


class ActivityFailedException(AzureMLException):
    """A run failed. `error_details` is the `error` entry of its details."""

    def __init__(
        self,
        exception_message: str = "",
        inner_exception: Optional[BaseException] = None,
        *,
        error_details: Any = None,
        hint: Optional[str] = None,
        **ignored: Any,
    ) -> None:
        super().__init__(exception_message, inner_exception, hint=hint, **ignored)
        self.error_details = error_details


class ActivityCanceledException(AzureMLException):
    pass


class DatasetTimestampMissingError(AzureMLException):
    pass


class ParallelRunException(AzureMLException):
    pass


class AzureMLAggregatedException(AzureMLException):
    pass


Kinds = Mapping[str, Type[AzureMLException]]
"""Maps codes of `footplate.errors` to exceptions, for one kind of request. `DEFAULT` covers the other codes."""

DEFAULT: Kinds = {
    "error": ServiceException,
    "invalid": UserErrorException,
    "not_allowed": AuthenticationException,
}
_NOTHING_SPECIAL: Kinds = {}


def translate(error: FootplateError, kinds: Kinds = _NOTHING_SPECIAL) -> AzureMLException:
    """Return the Azure exception for `error`, with its message and hint; the original is its `inner_exception`."""
    codes = [kind.code for kind in type(error).__mro__ if issubclass(kind, FootplateError)]
    for table in (kinds, DEFAULT):
        for code in codes:
            if code in table:
                return _make(table[code], error)
    return _make(ServiceException, error)


def _make(kind: Type[AzureMLException], error: FootplateError) -> AzureMLException:
    if issubclass(kind, _WithStatus):
        return kind(error.message, error, status_code=error.status, hint=error.hint)
    return kind(error.message, error, hint=error.hint)
