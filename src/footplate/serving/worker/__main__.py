"""`python -m footplate.serving.worker CONFIG.json [REPLICA]`: load a model or an entry script, then answer batches.

Exit codes: 0 told to stop, 3 the model or the script could not be loaded, 4 it used more memory than it may.
"""

from __future__ import annotations

import os
import sys
import traceback

from footplate.domain.serving.pickles import numpy_hint
from footplate.domain.serving.worker_config import WorkerConfig
from footplate.serving.worker.data_collector import SERVICE
from footplate.serving.worker.entry_script import EntryScript, link_source
from footplate.serving.worker.limits import apply_limits
from footplate.serving.worker.messages import Scorer
from footplate.serving.worker.server import WorkerServer

CANNOT_LOAD = 3


def main(path: str, replica: str = "0") -> int:
    with open(path, "rb") as file:
        config = WorkerConfig.decode(file.read(), os.path.dirname(os.path.abspath(path)))
    _set_variables(config)
    SERVICE.configure(config)
    apply_limits(config.options, f"{config.service}/{replica}")
    try:
        scorer = make_scorer(config)
    except Exception as error:
        traceback.print_exc()
        if hint := numpy_hint(str(error), getattr(sys.modules.get("numpy"), "__version__", None)):
            sys.stderr.write(f"hint: {hint}\n")
        return CANNOT_LOAD
    server = WorkerServer(scorer, {"service": config.service, "version": config.version})
    if config.socket:
        server.serve(config.socket.replace("{replica}", replica))
    else:
        from footplate.serving.worker.tunnel import connect  # noqa: PLC0415  # the client of the server's API

        server.serve_through(connect)
    return 0


def make_scorer(config: WorkerConfig) -> Scorer:
    """Return the scorer that a configuration describes. Frameworks are imported here and not before."""
    if config.entry_script:
        source = config.source or ""
        link_source(source, config.source_name)
        return EntryScript(os.path.join(source, config.entry_script))
    from footplate.serving.worker.loaders import load_scorer  # noqa: PLC0415  # needs numpy, which scripts may not have

    return load_scorer(config.models[0], config.options)


def _set_variables(config: WorkerConfig) -> None:
    """Set Azure's variables of a service."""
    root = config.model_root or ""
    folder = os.path.join(root, "azureml-models")
    if len(config.models) == 1:
        folder = os.path.join(folder, config.models[0].name, str(config.models[0].version))
    os.environ.update(
        AZUREML_MODEL_DIR=folder,
        AML_APP_ROOT=root,
        AZUREML_ENTRY_SCRIPT=config.entry_script or "",
        AZUREML_SOURCE_DIRECTORY=os.path.abspath(config.source or ""),
        SERVICE_NAME=config.service,
        WORKSPACE_NAME=config.workspace,
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
