from footplate.sdk.tensorboard import Tensorboard

__all__ = ["Tensorboard"]
