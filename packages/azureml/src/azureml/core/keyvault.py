from footplate.sdk.keyvault import Keyvault

__all__ = ["Keyvault"]
