from footplate.sdk.compute.targets import AmlCompute

__all__ = ["AmlCompute"]
