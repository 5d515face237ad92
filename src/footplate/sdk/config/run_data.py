"""The data of a run, found in its configuration: among the arguments, and in the dictionaries beside them."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple, Union, cast

from footplate.domain.orders import DataInput, DataOutput
from footplate.sdk.config.run_configuration import RunConfiguration
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
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.values.checked_attributes import to_camel
from footplate.sdk.values.run_configuration_sections import Data, DataReferenceConfiguration

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
            self.add_output(_expect(OutputFileDatasetConfig, value, f"run_config.output_data[{name!r}]"))

    def add_input(self, config: DatasetConsumptionConfig) -> None:
        dataset = self._dataset(config).save(self._server("a dataset"))
        new = DataInput(
            config.name, dataset=dataset.id, mode=config.mode, path_on_compute=_text(config.path_on_compute)
        )
        self._put(self.inputs, new)
        saved = DatasetConsumptionConfig(config.name, dataset, config.mode, config.path_on_compute)
        self.data[config.name] = saved.to_definition()

    def _consumption(self, name: str, value: Any) -> DatasetConsumptionConfig:
        """Return an input of `run_config.data`: as scripts write it, or as files of run configurations do."""
        where = f"run_config.data[{name!r}]"
        plain = to_camel(value) if isinstance(value, Data) else value
        if not isinstance(plain, Mapping):
            return _expect(DatasetConsumptionConfig, plain, where)
        fields: Mapping[str, Any] = cast("Mapping[str, Any]", plain)
        if fields.get("environmentVariableName") not in (None, name):
            raise UserErrorException(
                f"{where} has the variable {fields['environmentVariableName']!r}", hint=f"name both {name!r}"
            )
        dataset = self._locate(fields.get("dataLocation"), where)
        mode = str(fields.get("mechanism") or "direct")
        return DatasetConsumptionConfig(name, dataset, mode, fields.get("pathOnCompute"))

    def _locate(self, location: Any, where: str) -> AbstractDataset:
        dataset: Dict[str, Any] = dict(cast("Dict[str, Any]", location or {}).get("dataset") or {})
        workspace = self._server("a dataset")
        if dataset.get("id"):
            return Dataset.get_by_id(workspace, str(dataset["id"]))
        if dataset.get("name"):
            return Dataset.get_by_name(workspace, str(dataset["name"]), dataset.get("version") or "latest")
        raise UserErrorException(
            f"{where} names no dataset", hint="give the id or the name: Dataset(dataset_name='iris')"
        )

    def _dataset(self, config: DatasetConsumptionConfig) -> AbstractDataset:
        dataset = config.dataset
        if isinstance(dataset, OutputFileDatasetConfig):
            return self._find_written(dataset)
        if isinstance(dataset, tuple):
            return tuple_dataset(dataset)  # pyright: ignore[reportUnknownArgumentType]
        return _expect(AbstractDataset, dataset, f"the dataset of input {config.name!r}")

    def _find_written(self, output: OutputFileDatasetConfig) -> AbstractDataset:
        """Return the dataset that the run produced, so that its readers are traced to it; otherwise the future
        output."""
        kind = FileDataset if output.table is None else TabularDataset
        workspace = self._server("an output")
        expected = kind(output.written(self._default_datastore()), workspace)
        uses = workspace.session.api.datasets.of_run(output.last_run) if output.last_run else ()
        for use in uses:
            if use.role == "wrote" and use.name == output.name:
                dataset: AbstractDataset = Dataset.get_by_id(workspace, use.dataset)
                if dataset.fingerprint() == expected.fingerprint():
                    return dataset
        return expected

    def add_reference(self, name: str, reference: Any) -> None:
        config = reference.to_config() if isinstance(reference, DataReference) else reference
        config = _expect(DataReferenceConfiguration, config, f"run_config.data_references[{name!r}]")
        store = str(config.data_store_name)
        path = config.path_on_data_store or ""
        mode = str(config.mode).lower()
        place = _text(config.path_on_compute)
        if mode == "upload":
            new = DataOutput(name, store, path, "upload", place, (), bool(config.overwrite), is_dataset=False)
            self._put(self.outputs, new)
        else:
            new = DataInput(name, None, store, path, mode, place, bool(config.overwrite))
            self._put(self.inputs, new)
        self.references[name] = config

    def add_output(self, config: OutputFileDatasetConfig) -> None:
        self._put(self.outputs, config.to_output(self._default_datastore()))
        self.output_data[config.name] = config.to_definition()
        self._configs.append(config)

    def add_resume(self, resume_from: Any) -> List[str]:
        """Return the arguments that tell a script where the run resumes."""
        if isinstance(resume_from, DataPath):
            resume_from = resume_from.create_data_reference(RESUME)
        reference = _expect(DataReference, resume_from, "resume_from")
        self.add_reference(RESUME, reference)
        return ["--resume-from", f"${PREFIX}{RESUME}"]

    def record_submission(self, run_id: str) -> None:
        """Record the submitted run in its outputs."""
        for config in self._configs:
            config.submitted_with(run_id)

    # ── help ──

    def _put(self, named: Dict[str, Any], new: Union[DataInput, DataOutput]) -> None:
        other = self.inputs.get(new.name) or self.outputs.get(new.name)
        if other is not None and other != new:
            raise UserErrorException(
                f"two inputs or outputs of the run are called {new.name!r}", hint="give each its own name"
            )
        named[new.name] = new

    def _server(self, what: str) -> Workspace:
        if self._workspace is None:
            raise UserErrorException(f"{what} needs a workspace", hint="submit the configuration to an experiment")
        return self._workspace

    def _default_datastore(self) -> str:
        if self._default is None:
            self._default = Datastore.get_default(self._server("an output")).name
        return self._default


def _expect(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, kind):
        plain = dict(value) if isinstance(value, Mapping) else value  # pyright: ignore
        raise UserErrorException(f"{where} is {plain!r}", hint=f"give a {kind.__name__}")
    return value


def _text(path: Any) -> Optional[str]:
    return None if path is None else str(path)
