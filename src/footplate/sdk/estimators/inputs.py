"""An estimator's `script_params` and `inputs` as arguments and data of a run configuration."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, cast

from footplate.sdk.config.run_configuration import RunConfiguration
from footplate.sdk.data.consumption import DatasetConsumptionConfig
from footplate.sdk.data.datastore_kinds import AbstractDatastore
from footplate.sdk.data.references import DataReference
from footplate.sdk.exceptions import TrainingException


def check_parameters(script_params: Any) -> Dict[str, Any]:
    """Check that `script_params` is a dictionary with string keys, and return it."""
    if not isinstance(script_params, Mapping):
        words = cast("Sequence[Any]", script_params) if isinstance(script_params, (list, tuple)) else ()
        example = repr(dict(zip(map(str, words[::2]), words[1::2])) or {"--learning-rate": 0.01})
        raise TrainingException(f"script_params is {script_params!r}", hint=f"pass a dictionary: {example}")
    parameters = cast("Mapping[Any, Any]", script_params)
    for name in parameters:
        if not isinstance(name, str):
            raise TrainingException(
                f"script_params has {name!r} as the name of a parameter", hint=f"use a string, for example '--{name}'"
            )
    return dict(parameters)


def arguments(script_params: Any) -> List[Any]:
    """Return the parameters in order. A value of '' or None leaves the bare flag; a list is expanded."""
    flat: List[Any] = []
    for name, value in check_parameters(script_params).items():
        flat += [name, *values(value)]
    return flat


def values(value: Any) -> List[Any]:
    """Return the values of a parameter: none for '' and None, the items of a list, or the value itself."""
    several = [*cast("Sequence[Any]", value)] if isinstance(value, (list, tuple)) else [value]
    return [one for one in several if one is not None and not (isinstance(one, str) and one == "")]


def check_inputs(inputs: Any) -> List[Any]:
    """Check that `inputs` is a list of named data, and return it."""
    if not isinstance(inputs, (list, tuple)):
        raise TrainingException(
            f"inputs is {inputs!r}", hint="pass a list: inputs=[dataset.as_named_input('name').as_mount()]"
        )
    data = [*cast("Sequence[Any]", inputs)]
    for one in data:
        if not isinstance(one, (AbstractDatastore, DataReference, DatasetConsumptionConfig)):
            raise TrainingException(
                f"inputs has {one!r}",
                hint="use datasets (dataset.as_named_input('name')) or references (datastore.as_mount())",
            )
    return data


def add_inputs(config: RunConfiguration, inputs: Sequence[Any]) -> None:
    """Add data that the script finds by name, in its environment or in `run.input_datasets`, not in an argument."""
    for one in check_inputs(inputs):
        if isinstance(one, DatasetConsumptionConfig):
            config.data[one.name] = one
        else:
            reference = one.as_mount() if isinstance(one, AbstractDatastore) else one  # the whole datastore
            config.data_references[reference.data_reference_name] = reference.to_config()
