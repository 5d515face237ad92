"""The upkeep of everything that the server keeps.

verification   a check of everything, for `footplate server verify`
deletion       removes runs that have ended
garbage        what refers to a blob; removes blobs that nothing refers to
"""
