"""Content addressing: directories as blobs named by their sha256. Jobs import it: standard library and Python 3.8 only.

- `blobs`: a directory of blobs, written durably.
- `manifest`: a snapshot as one JSON document, and the checks on one that an attacker may have written.
- `source_tree`: scan a source directory and store it as blobs and a manifest.
- `walk`: the walk over a source directory, and what it leaves out.
- `stat_cache`: digests of files that have not changed since the last scan.
- `git`: repository, branch, commit and uncommitted changes of a source directory, and files that its index vouches for.
- `ignore`: ignore files with git's semantics.
- `restore`: a snapshot back as a directory or a zip file.
- `listing`: the files that make up a dataset, as one file that is its own index.
- `frames`: the columns of a table as a file of buffers, which become a pandas DataFrame without Arrow.
"""
