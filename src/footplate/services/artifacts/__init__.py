"""Ways by which the content of large files reaches the server without passing through its HTTP API.

object_blobs   blobs in the object store of the settings, which nodes write to directly
    handovers      files in a directory that nodes share with the server

`tests/conformance/test_direct_outputs.py` covers `object_blobs` on real stores.
"""
