"""Code that runs inside a rank, in the user's interpreter: standard library, Python 3.8, no other package of ours.

- `bootstrap`: the program that is started; it loads `script_runner`.
- `script_runner`: run the user's script and record how it ended.
- `exit_report`: the part of `script_runner` that only a failing script needs.
- `notebook_runner`: run a notebook in place of a script.
- `journal`: write metrics.
- `slots`: the layout of a journal's slots.
- `journal_format`: how to read and decode journals.
- `offline`: the run object of a script that was started by hand.
"""
