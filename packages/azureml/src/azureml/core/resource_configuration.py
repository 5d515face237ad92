from footplate.sdk.models.resource_configuration import ResourceConfiguration

__all__ = ["ResourceConfiguration"]
