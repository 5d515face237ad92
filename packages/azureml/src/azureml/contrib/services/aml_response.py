from footplate.serving.worker.raw_http import AMLResponse

__all__ = ["AMLResponse"]
