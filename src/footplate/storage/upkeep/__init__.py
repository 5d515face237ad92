"""The upkeep of everything that the server keeps.

references     which content something refers to
verification   a check of everything, for `footplate server verify`
deletion       removes runs that have ended
garbage        removes blobs that nothing refers to
"""
