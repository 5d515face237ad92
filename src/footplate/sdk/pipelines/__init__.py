"""Pipelines: steps that hand data to each other.

data         what steps write and others read: PipelineData, ports, parameters
steps        the steps: a script, a command, an estimator
cloud_steps  steps that need services of a cloud; they are refused with an alternative
graph        Pipeline and StepSequence
building     a pipeline as a spec for the server
pipeline_run PipelineRun and StepRun
"""
