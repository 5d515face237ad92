"""What an estimator's `script_params` and `inputs` become: arguments, and data that the run configuration brings."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, cast

from footplate.sdk.config.run_configuration import RunConfiguration
from footplate.sdk.data.consumption import DatasetConsumptionConfig
from footplate.sdk.data.datastore_kinds import AbstractDatastore
from footplate.sdk.data.references import DataReference
from footplate.sdk.exceptions import TrainingException


def checked_parameters(script_params: Any) -> Dict[str, Any]:
    """A dictionary whose keys are texts."""
    if not isinstance(script_params, Mapping):
        words = cast("Sequence[Any]", script_params) if isinstance(script_params, (list, tuple)) else ()
        example = repr(dict(zip(map(str, words[::2]), words[1::2])) or {"--learning-rate": 0.01})
        raise TrainingException(f"script_params is {script_params!r}", hint=f"give a dictionary: {example}")
    given = cast("Mapping[Any, Any]", script_params)
    for name in given:
        if not isinstance(name, str):
            raise TrainingException(
                f"script_params has {name!r} as the name of a parameter", hint=f"give a text, for example '--{name}'"
            )
    return dict(given)


def arguments(script_params: Any) -> List[Any]:
    """The parameters in their order. A value of '' or None leaves the bare flag; a list is spread."""
    flat: List[Any] = []
    for name, value in checked_parameters(script_params).items():
        flat += [name, *values(value)]
    return flat


def values(value: Any) -> List[Any]:
    """What follows the name of a parameter: nothing for '' and None, each item of a list, or the value itself."""
    several = [*cast("Sequence[Any]", value)] if isinstance(value, (list, tuple)) else [value]
    return [one for one in several if one is not None and not (isinstance(one, str) and one == "")]


def checked_inputs(inputs: Any) -> List[Any]:
    """A list of data, each with a name and a way to get it."""
    if not isinstance(inputs, (list, tuple)):
        raise TrainingException(
            f"inputs is {inputs!r}", hint="give a list: inputs=[dataset.as_named_input('name').as_mount()]"
        )
    given = [*cast("Sequence[Any]", inputs)]
    for one in given:
        if not isinstance(one, (AbstractDatastore, DataReference, DatasetConsumptionConfig)):
            raise TrainingException(
                f"inputs has {one!r}",
                hint="give datasets (dataset.as_named_input('name')) or references (datastore.as_mount())",
            )
    return given


def add_inputs(config: RunConfiguration, inputs: Sequence[Any]) -> None:
    """Data that the script finds by its name, in the environment or in `run.input_datasets`, not in an argument."""
    for one in checked_inputs(inputs):
        if isinstance(one, DatasetConsumptionConfig):
            config.data[one.name] = one
        else:
            reference = one.as_mount() if isinstance(one, AbstractDatastore) else one  # all that is in the datastore
            config.data_references[reference.data_reference_name] = reference.to_config()
