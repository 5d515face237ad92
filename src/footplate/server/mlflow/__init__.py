"""MLflow's REST API, under /mlflow/<workspace>: each workspace is a tracking server, a registry and an artifact store.

A handler takes a request whose fields were checked, calls a service and renders the answer in MLflow's form. The
package does not import mlflow.

application     from an HTTP request to a handler, and back
routes          the table of routes: path, right, fields, handler
permits         rights, and the audit log
call            what a handler knows: services, workspace, fields
fields          checks of fields, with MLflow's texts
errors          errors with MLflow's codes
names           checks of names, keys and lengths
grammar         filters, orders and page tokens
memory_search   the grammar over objects in memory: experiments, models
views           experiments, runs and models as MLflow's JSON
experiments     handlers of experiments
runs            handlers of runs: their life, what they log, searches
histories       handlers of the points of metrics
logged_models   handlers of models that runs log
registry        handlers of registered models and versions
model_sources   the run or logged model that a version comes from
artifacts       handlers of lists of files, and of large files
artifact_paths  the files that a path of an artifact names
bodies          bytes of files, in and out
transfers       parts of large files, by signed links
about           health, version, and what the server can do
"""
