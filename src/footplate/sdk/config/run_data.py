"""The data of a run, found in its configuration: among the arguments, and in the dictionaries beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple, Union, cast

from footplate.domain.orders import DataInput, DataOutput
from footplate.sdk.data.base import AbstractDataset
from footplate.sdk.data.consumption import DatasetConsumptionConfig
from footplate.sdk.data.dataset import Dataset, tuple_dataset
from footplate.sdk.data.datastore import Datastore
from footplate.sdk.data.datastore_kinds import AbstractDatastore
from footplate.sdk.data.file_dataset import FileDataset
from footplate.sdk.data.output_dataset import OutputFileDatasetConfig
from footplate.sdk.data.references import PREFIX, DataPath, DataReference
from footplate.sdk.data.tabular_dataset import TabularDataset
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.checked_attributes import to_camel
from footplate.sdk.values.run_configuration_sections import Data, DataReferenceConfiguration

if TYPE_CHECKING:
    from footplate.sdk.config.run_configuration import RunConfiguration
    from footplate.sdk.handles import WorkspaceHandle as Workspace

RESUME = "MODEL_LOCATION"
PLACEHOLDER = "DatasetConsumptionConfig:"


class ConfiguredData:
    """Collects inputs and outputs, each name once, and provides their placeholders among the arguments."""

    def __init__(self, workspace: Optional[Workspace]) -> None:
        self._workspace = workspace
        self._default: Optional[str] = None
        self.inputs: Dict[str, DataInput] = {}
        self.outputs: Dict[str, DataOutput] = {}
        self.data: Dict[str, Any] = {}
        self.references: Dict[str, Any] = {}
        self.output_data: Dict[str, Any] = {}
        self._configs: List[OutputFileDatasetConfig] = []

    # ── what is found ──

    def argument(self, value: Any) -> Optional[Tuple[str, str]]:
        """Return the placeholder that each rank expands, and the text for the definition; None for other arguments."""
        if isinstance(value, AbstractDatastore):
            value = value.as_mount()
        if isinstance(value, DataReference):
            self.add_reference(value.data_reference_name, value)
            return str(value), str(value)
        if isinstance(value, DatasetConsumptionConfig):
            self.add_input(value)
            return f"${value.name}", f"{PLACEHOLDER}{value.name}"
        if isinstance(value, OutputFileDatasetConfig):
            self.add_output(value)
            return f"${value.name}", f"DatasetOutputConfig:{value.name}"
        if isinstance(value, str) and value.startswith(PLACEHOLDER):
            return self._placeholder(value), value
        if isinstance(value, AbstractDataset):
            raise UserErrorException(
                f"the argument {value!r} is a dataset without a way to deliver it to the script",
                hint="use dataset.as_named_input('data').as_mount(), or .as_download()",
            )
        return None

    def _placeholder(self, value: str) -> str:
        """Return the variable for an input that an argument names as Azure writes it to files."""
        name = value[len(PLACEHOLDER) :]
        if name not in self.inputs:
            raise UserErrorException(
                f"the argument {value!r} names an input that the run does not have",
                hint=f"add it: run_config.data[{name!r}] = dataset.as_named_input({name!r}).as_mount()",
            )
        return f"${name}"

    def add_configured(self, run_config: RunConfiguration) -> None:
        """Add the data that the dictionaries of the run configuration name."""
        for name, value in run_config.data.items():
            self.add_input(self._consumption(str(name), value))
        for name, value in run_config.data_references.items():
            self.add_reference(str(name), value)
        for name, value in run_config.output_data.items():
            self.add_output(_expected(OutputFileDatasetConfig, value, f"run_config.output_data[{name!r}]"))

    def add_input(self, config: DatasetConsumptionConfig) -> None:
        kept = self._dataset(config).save(self._server("a dataset"))
        wanted = DataInput(
            config.name, dataset=kept.id, mode=config.mode, path_on_compute=_text(config.path_on_compute)
        )
        self._put(self.inputs, wanted)
        shown = DatasetConsumptionConfig(config.name, kept, config.mode, config.path_on_compute)
        self.data[config.name] = shown.to_definition()

    def _consumption(self, name: str, value: Any) -> DatasetConsumptionConfig:
        """Return an input of `run_config.data`: as scripts write it, or as files of run configurations do."""
        where = f"run_config.data[{name!r}]"
        plain = to_camel(value) if isinstance(value, Data) else value
        if not isinstance(plain, Mapping):
            return _expected(DatasetConsumptionConfig, plain, where)
        given: Mapping[str, Any] = cast("Mapping[str, Any]", plain)
        if given.get("environmentVariableName") not in (None, name):
            raise UserErrorException(
                f"{where} has the variable {given['environmentVariableName']!r}", hint=f"name both {name!r}"
            )
        dataset = self._located(given.get("dataLocation"), where)
        mode = str(given.get("mechanism") or "direct")
        return DatasetConsumptionConfig(name, dataset, mode, given.get("pathOnCompute"))

    def _located(self, location: Any, where: str) -> AbstractDataset:
        known: Dict[str, Any] = dict(cast("Dict[str, Any]", location or {}).get("dataset") or {})
        workspace = self._server("a dataset")
        if known.get("id"):
            return Dataset.get_by_id(workspace, str(known["id"]))
        if known.get("name"):
            return Dataset.get_by_name(workspace, str(known["name"]), known.get("version") or "latest")
        raise UserErrorException(
            f"{where} names no dataset", hint="give the id or the name: Dataset(dataset_name='iris')"
        )

    def _dataset(self, config: DatasetConsumptionConfig) -> AbstractDataset:
        given = config.dataset
        if isinstance(given, OutputFileDatasetConfig):
            return self._written(given)
        if isinstance(given, tuple):
            return tuple_dataset(given)  # pyright: ignore[reportUnknownArgumentType]
        return _expected(AbstractDataset, given, f"the dataset of input {config.name!r}")

    def _written(self, output: OutputFileDatasetConfig) -> AbstractDataset:
        """Return the dataset that the run produced, so that its readers are traced to it; otherwise the future
        output."""
        kind = FileDataset if output.table is None else TabularDataset
        workspace = self._server("an output")
        expected = kind(output.written(self._default_datastore()), workspace)
        uses = workspace.session.api.datasets.of_run(output.last_run) if output.last_run else ()
        for use in uses:
            if use.role == "wrote" and use.name == output.name:
                made: AbstractDataset = Dataset.get_by_id(workspace, use.dataset)
                if made.fingerprint() == expected.fingerprint():
                    return made
        return expected

    def add_reference(self, name: str, given: Any) -> None:
        config = given.to_config() if isinstance(given, DataReference) else given
        config = _expected(DataReferenceConfiguration, config, f"run_config.data_references[{name!r}]")
        store, path, mode = str(config.data_store_name), config.path_on_data_store or "", str(config.mode).lower()
        place = _text(config.path_on_compute)
        if mode == "upload":
            wanted = DataOutput(name, store, path, "upload", place, (), bool(config.overwrite), is_dataset=False)
            self._put(self.outputs, wanted)
        else:
            wanted = DataInput(name, None, store, path, mode, place, bool(config.overwrite))
            self._put(self.inputs, wanted)
        self.references[name] = config

    def add_output(self, config: OutputFileDatasetConfig) -> None:
        self._put(self.outputs, config.to_output(self._default_datastore()))
        self.output_data[config.name] = config.to_definition()
        self._configs.append(config)

    def add_resume(self, resume_from: Any) -> List[str]:
        """Return the arguments that tell a script where the run resumes."""
        if isinstance(resume_from, DataPath):
            resume_from = resume_from.create_data_reference(RESUME)
        reference = _expected(DataReference, resume_from, "resume_from")
        self.add_reference(RESUME, reference)
        return ["--resume-from", f"${PREFIX}{RESUME}"]

    def submitted(self, run_id: str) -> None:
        """Record the submitted run in its outputs."""
        for config in self._configs:
            config.submitted_with(run_id)

    # ── help ──

    def _put(self, known: Dict[str, Any], wanted: Union[DataInput, DataOutput]) -> None:
        other = self.inputs.get(wanted.name) or self.outputs.get(wanted.name)
        if other is not None and other != wanted:
            raise UserErrorException(
                f"two inputs or outputs of the run are called {wanted.name!r}", hint="give each its own name"
            )
        known[wanted.name] = wanted

    def _server(self, what: str) -> Workspace:
        if self._workspace is None:
            raise UserErrorException(f"{what} needs a workspace", hint="submit the configuration to an experiment")
        return self._workspace

    def _default_datastore(self) -> str:
        if self._default is None:
            self._default = Datastore.get_default(self._server("an output")).name
        return self._default


def _expected(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, kind):
        shown = dict(value) if isinstance(value, Mapping) else value  # pyright: ignore
        raise UserErrorException(f"{where} is {shown!r}", hint=f"give a {kind.__name__}")
    return value


def _text(path: Any) -> Optional[str]:
    return None if path is None else str(path)
