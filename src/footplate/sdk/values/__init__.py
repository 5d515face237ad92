"""Values, and errors about them, that all parts of the SDK use.

labels              tags and properties as texts, and their filters
timestamps          times in Azure's form
checked_attributes  configuration objects whose attributes cannot be misspelled
yaml, yaml_format   configuration files, with PyYAML or without
run_configuration_sections          parts of a RunConfiguration: MpiConfiguration, DockerConfiguration, …
wrong_types         errors for arguments of wrong types, in place of raw exceptions
warn                warnings that point at the user's own line
"""
