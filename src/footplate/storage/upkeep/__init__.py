"""The upkeep of everything that the server keeps.

references     which content something refers to
verification   a check of everything, for `footplate server verify` (`tests/unit/server/test_verify.py`)
deletion       removes runs that have ended
garbage        removes blobs that nothing refers to

`tests/support/storage_parts/upkeep_suite` covers deletion, garbage and references on every database.
"""
