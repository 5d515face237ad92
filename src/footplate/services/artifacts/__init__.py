"""Ways by which the content of large files reaches the server without passing through its HTTP API.

object_blobs   blobs in the object store of the settings, which nodes write to directly

`tests/conformance/test_direct_outputs.py` covers it on real stores.
"""
