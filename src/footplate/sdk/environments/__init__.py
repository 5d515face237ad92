"""Azure's `Environment` and its parts.

environment         the class: constructors, registration, building
fields              its attributes
sections            its parts: PythonSection, DockerSection, …
conda_dependencies  CondaDependencies: packages and channels; conda_files checks what a file has
curated             curated environments of the workspace
definition          an environment as plain data, and back
spec                an environment as a request to a builder
unused              settings that have no effect here
files               directories, wheels, exports of conda
requirement_files   requirements files, and the files that they name
build, image_details  building without a run, and its result
"""
