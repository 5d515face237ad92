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

from footplate.errors import FootplateError
from footplate.lazy import Deferred

TYPE_CHECKING = False  # typing is not imported: a script that only logs does without it
if TYPE_CHECKING:
    import json
    from typing import Any, List, Mapping, Optional, Type

    from typing_extensions import TypeAlias

    from footplate.sdk.display import notebooks
else:
    json, notebooks = Deferred("json"), Deferred("footplate.sdk.display.notebooks")  # for errors that are shown


class AzureMLException(Exception):
    """The base class of all errors. `str(error)` has the frame of Azure's SDK, with the hint below the message.

    Args:
        exception_message: The message, as `error.message`.
        inner_exception: The error that caused it.
        hint: A sentence that says what to do, as `error.hint`.

    Example:
        try:
            Experiment(ws, "not/valid")
        except AzureMLException as error:
            print(error.message, error.hint)
    """

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
            f"{self._public_name()}:\n\tMessage: {self.message_with_hint}\n\tInnerException {self.inner_exception!r}"
            f"\n\tErrorResponse \n{json.dumps({'error': details}, indent=4)}"
        )

    def __repr__(self) -> str:
        return f"{self._public_name()}({self.message!r})"

    def _public_name(self) -> str:
        """Return the name of Azure's class; our own subclasses are private."""
        return next(kind.__name__ for kind in type(self).__mro__ if not kind.__name__.startswith("_"))

    def _render_traceback_(self) -> List[str]:
        """Return what IPython prints: the user's own lines, message and hint. Frames of libraries would bury them."""
        return notebooks.short_traceback(self, self.message_with_hint)


class UserErrorException(AzureMLException):
    """A request that cannot be fulfilled as it stands: the caller can correct it.

    Example:
        try:
            ws.get_default_keyvault().get_secret("missing")
        except UserErrorException as error:
            print(error.message)
    """

    code = "UserError"


class AuthenticationException(UserErrorException):
    """A token that is missing, is not valid, or does not permit the request.

    Example:
        try:
            print(Workspace.list())
        except AuthenticationException as error:
            print(error.hint)
    """


class DatasetValidationError(UserErrorException):
    """A file or table that a dataset names does not exist or cannot be read.

    Example:
        try:
            Dataset.File.from_files([(ws.get_default_datastore(), "missing/*.png")])
        except DatasetValidationError as error:
            print(error.message)
    """


class DatasetExecutionError(UserErrorException):
    """Reading a dataset failed halfway.

    Example:
        def load(table: TabularDataset) -> None:
            try:
                print(table.to_pandas_dataframe())
            except DatasetExecutionError as error:
                print(error.message)
    """


class _WithStatus(AzureMLException):
    """An error with a status code of HTTP.

    Args:
        exception_message: The message, as `error.message`.
        inner_exception: The error that caused it.
        status_code: The status of the response, as `error.status_code`.
        hint: A sentence that says what to do, as `error.hint`.
        **ignored: Accepted for Azure's private options, and ignored.
    """

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
    """An error of the server that no other class names; `status_code` is that of the response.

    Example:
        try:
            ws.get_run("missing")
        except ServiceException as error:
            print(error.status_code, error.message)
    """


class WebserviceException(_WithStatus):
    """An error about a model or a web service; `status_code` is that of the response.

    Example:
        try:
            Model(ws, "missing")
        except WebserviceException as error:
            print(error.message)
    """


class TrainingException(AzureMLException):
    """A value of an estimator that is not valid.

    Example:
        try:
            Estimator("src", entry_script="train.py", compute_target="local", node_count=2)
        except TrainingException as error:
            print(error.message)
    """


class ExperimentExecutionException(AzureMLException):
    """A run that cannot be submitted or waited for.

    Example:
        try:
            experiment.submit(ScriptRunConfig("src", "missing.py"))
        except ExperimentExecutionException as error:
            print(error.message)
    """


class ProjectSystemException(AzureMLException):
    """An error about a project directory. Footplate never raises it.

    Example:
        print(issubclass(ProjectSystemException, AzureMLException))
    """


class SnapshotException(AzureMLException):
    """A directory that cannot be stored with a run, or a snapshot that does not exist.

    Example:
        try:
            run.restore_snapshot("0" * 64)
        except SnapshotException as error:
            print(error.message)
    """


class RunEnvironmentException(AzureMLException):
    """A process that does not belong to a run.

    Example:
        try:
            Run.get_context(allow_offline=False)
        except RunEnvironmentException:
            print("started by hand")
    """


class WorkspaceException(AzureMLException):
    """A workspace that does not exist, or exists already.

    Example:
        try:
            Workspace.get("missing")
        except WorkspaceException as error:
            print(error.hint)
    """


class ComputeTargetException(AzureMLException):
    """A compute target that does not exist, or a value for it that is not valid.

    Example:
        try:
            ComputeTarget(ws, "missing")
        except ComputeTargetException as error:
            print(error.message)
    """


class RunConfigurationException(AzureMLException):
    """A value of a run configuration that is not valid.

    Example:
        try:
            PyTorchConfiguration("Carrier pigeons")
        except RunConfigurationException as error:
            print(error.hint)
    """


class ModelNotFoundException(AzureMLException):
    """A model that is not where a script looks for it.

    Example:
        try:
            Model.get_model_path("missing")
        except ModelNotFoundException as error:
            print(error.message)
    """


class ModelPathNotFoundException(AzureMLException):
    """A file or folder of a model that does not exist.

    Example:
        try:
            run.register_model("classifier", "outputs/missing.pkl")
        except ModelPathNotFoundException as error:
            print(error.message)
    """


class DiscoveryUrlNotFoundException(AzureMLException):
    """An address of Azure that was not found. Footplate never raises it.

    Example:
        print(issubclass(DiscoveryUrlNotFoundException, AzureMLException))
    """


class ActivityFailedException(AzureMLException):
    """A failed run, as `wait_for_completion` reports it.

    Args:
        exception_message: The message, as `error.message`.
        inner_exception: The error that caused it.
        error_details: The `error` entry of the run's details.
        hint: A sentence that says what to do, as `error.hint`.
        **ignored: Accepted for Azure's private options, and ignored.

    Example:
        failing = experiment.submit(ScriptRunConfig("src", "train.py", arguments=["--fail"]))
        try:
            failing.wait_for_completion()
        except ActivityFailedException as error:
            print(error.message, error.error_details)
    """

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
    """A canceled run. Footplate's `wait_for_completion` returns in that case, and never raises it.

    Example:
        print(issubclass(ActivityCanceledException, AzureMLException))
    """


class DatasetTimestampMissingError(AzureMLException):
    """A method about time on a table without a timestamp column.

    Example:
        print(issubclass(DatasetTimestampMissingError, AzureMLException))
    """


class ParallelRunException(AzureMLException):
    """An error of Azure's parallel runs. Footplate never raises it.

    Example:
        print(issubclass(ParallelRunException, AzureMLException))
    """


class AzureMLAggregatedException(AzureMLException):
    """Several errors in one. Footplate never raises it.

    Example:
        print(issubclass(AzureMLAggregatedException, AzureMLException))
    """


Kinds: TypeAlias = "Mapping[str, Type[AzureMLException]]"
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
    kind = next((table[code] for table in (kinds, DEFAULT) for code in codes if code in table), ServiceException)
    return kind(error.message, error, status_code=error.status, hint=error.hint)  # most have no status, and ignore it
