"""Contents of large files: ways around the server's HTTP API, archives, and the removal of replaced checkpoints.

object_blobs   blobs in the object store of the settings, which nodes write to directly
handovers      files in a directory that nodes share with the server
archives       zip archives that are made while they are sent
superseded     contents of checkpoints that newer ones have replaced
"""
