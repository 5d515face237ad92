"""`footplate runs`: the group, and one module per kind of command.

group       the group itself
listing     list, compare, diff: which runs, in which order, with which columns, and what differs
editing     tag, rename, note, archive, restore, delete
watching    watch: a live table of active runs
plotting    metrics, plot, images: the course of runs on the terminal
logs        logs: whole, their end, or what is recent
commands    show, files, download, cancel, restart, rerun, stacks, story
charts, plots, images
            tables and plots of metrics, line plots in text, images on terminals
unknown     errors about misspelled names, with the nearest existing one
"""

from footplate.cli.runs import commands as commands
from footplate.cli.runs import editing as editing
from footplate.cli.runs import listing as listing
from footplate.cli.runs import logs as logs
from footplate.cli.runs import plotting as plotting
from footplate.cli.runs import watching as watching
from footplate.cli.runs.group import runs

__all__ = ["runs"]
