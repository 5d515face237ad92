from footplate.sdk.tensorboard_export import export_to_tensorboard

__all__ = ["export_to_tensorboard"]
