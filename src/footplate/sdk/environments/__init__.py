"""Azure's `Environment` and its parts.

environment         the class: constructors, registration, building
sections            its parts: PythonSection, DockerSection, …
conda_dependencies  CondaDependencies: packages and channels
curated             curated environments of the workspace
definition          its attributes, as plain data and back
spec                an environment as a request to a builder
unused              settings that have no effect here
files               directories, wheels, exports of conda
requirement_files   requirements files and the files that they name; checks of conda files
build               building without a run, and its result
"""
