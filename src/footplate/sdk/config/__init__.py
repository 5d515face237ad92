"""Configurations of runs and of the workspace.

script_run_config           ScriptRunConfig: a script or command, and the specification made from it
notebook_run_config         NotebookRunConfig: a notebook that runs as a job
run_configuration           RunConfiguration: target, environment, distribution
run_configuration_file      run configurations on disk
unused                      settings that have no effect here, named in one warning
run_data                    inputs and outputs of a run
workspace_lookup            finding and creating workspaces on a server
workspace_file              the file that names a directory's workspace
"""
