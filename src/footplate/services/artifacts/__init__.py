"""Contents of large files: ways around the server's HTTP API, and the removal of replaced checkpoints.

object_blobs   blobs in the object store of the settings, which nodes write to directly
handovers      files in a directory that nodes share with the server
superseded     contents of checkpoints that newer ones have replaced
"""
