from footplate.sdk.telemetry import set_diagnostics_collection

__all__ = ["set_diagnostics_collection"]
