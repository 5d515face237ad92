"""The `footplate` command: one file per noun. A command is parse, one call of the SDK, print.

Data goes to stdout, talk to stderr; `--json` gives machines what people see. A module is loaded when its command is
called, because nobody should wait for `--help`.
"""
