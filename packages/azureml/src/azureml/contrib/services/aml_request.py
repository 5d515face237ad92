from footplate.serving.worker.raw_http import AMLRequest, rawhttp

__all__ = ["AMLRequest", "rawhttp"]
