from footplate.sdk.experiment import Experiment

__all__ = ["Experiment"]
