from footplate.sdk.estimators.frameworks import SKLearn

__all__ = ["SKLearn"]
