"""A notebook that runs as a job: the argument of `experiment.submit` in place of a ScriptRunConfig."""

from __future__ import annotations

import logging
from typing import Any, List, Mapping, Optional, cast

from footplate.sdk.config.run_configuration import RunConfiguration
from footplate.sdk.config.script_run_config import NOTEBOOK, ScriptRunConfig
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.wrong_types import explained

_log = logging.getLogger(__name__)


@explained
class NotebookRunConfig(ScriptRunConfig):
    """A notebook that runs as a job, for `experiment.submit`.

    `parameters` are assigned in a cell below the one tagged `parameters`. The executed notebook becomes a
    file of the run.

    Args:
        source_directory: The directory that is copied to the run.
        notebook: The path of the notebook in it, ending in `.ipynb`.
        output_notebook: The name of the executed notebook; by default its own name, in `./outputs`.
        parameters: Values by name: plain data, or datasets.
        handler: Ignored with a warning: nbclient executes the notebook.
        run_config: How the notebook runs, such as its target and environment.

    Raises:
        UserErrorException: `notebook` is not a notebook, or a parameter is not the name of a variable.

    Example:
        config = NotebookRunConfig("src", "explore.ipynb", parameters={"rate": 0.1})
        print(config.notebook, config.parameters)
    """

    def __init__(
        self,
        source_directory: str,
        notebook: str,
        output_notebook: Optional[str] = None,
        parameters: Optional[Mapping[str, Any]] = None,
        handler: Any = None,
        run_config: Optional[RunConfiguration] = None,
        _telemetry_values: Any = None,
    ) -> None:
        if not str(notebook).endswith(NOTEBOOK):
            raise UserErrorException(f"notebook is {notebook!r}", hint="name a file that ends in .ipynb")
        if handler is not None:
            _log.warning("handler is ignored: nbclient executes the notebook")
        self.notebook, self.output_notebook = notebook, output_notebook
        self.parameters = dict(parameters or {})
        words = ["--output-notebook", output_notebook] if output_notebook else []
        super().__init__(source_directory, notebook, [*words, *_assignments(self.parameters)], run_config)


def _assignments(parameters: Mapping[str, Any]) -> List[Any]:
    """Return the arguments that the runner of notebooks reads as Python literals. Data keeps its own form."""
    words: List[Any] = []
    for name, value in parameters.items():
        if not str(name).isidentifier():
            raise UserErrorException(f"parameter {name!r} is not the name of a variable", hint="use letters and digits")
        plain = isinstance(value, (str, int, float, bool, list, tuple, dict, set, bytes, type(None)))
        words += [f"--{name}", repr(cast("Any", value)) if plain else value]
    return words
