"""`footplate`: the table of its commands, and what becomes of errors."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import warnings
from typing import NoReturn, cast

import click

from footplate import environ
from footplate.cli.console import paint, with_options
from footplate.errors import FootplateError

# name → (module:attribute, one-line help). The help is here so that `--help` imports no command's module.
COMMANDS = {
    "init": ("footplate.cli.init:init", "Connect this folder to a workspace."),
    "ui": ("footplate.cli.ui:ui", "Open the page of the server in a browser."),
    "mlflow": ("footplate.cli.mlflow:mlflow", "Print the address of a workspace for MLflow's clients."),
    "run": ("footplate.cli.run:run", "Run a script, here or on a compute target."),
    "runs": ("footplate.cli.runs:runs", "Inspect runs, compare them, and control them."),
    "sweep": ("footplate.cli.sweep:sweep", "Search for hyperparameters."),
    "pipelines": ("footplate.cli.pipelines:pipelines", "List pipelines, and explain why their steps ran."),
    "experiments": ("footplate.cli.experiments:experiments", "List and archive experiments."),
    "models": ("footplate.cli.models:models", "List, register, download, deploy and delete models."),
    "endpoints": ("footplate.cli.endpoints:endpoints", "Web services: list, call, update, split and delete them."),
    "data": ("footplate.cli.data:data", "Datasets: list, add, download, verify, and trace them to runs and models."),
    "datastore": (
        "footplate.cli.datastore:datastore",
        "Datastores: list, add, upload and browse them.",
    ),
    "env": ("footplate.cli.env:env", "Environments: list, resolve, build, compare and clean up."),
    "compute": ("footplate.cli.compute:compute", "Add, list, check and remove compute targets."),
    "azureml": ("footplate.cli.azureml.commands:azureml", "Check code that was written for Azure ML SDK v1."),
    "workspace": ("footplate.cli.init:workspace", "List, choose, show and delete workspaces."),
    "gc": (
        "footplate.cli.server:gc",
        "Free the space of content that no run, model, dataset or web service refers to.",
    ),
    "login": ("footplate.cli.access.login:login", "Sign in to a team server on this machine."),
    "logout": ("footplate.cli.access.login:logout", "Forget the token of a team server on this machine."),
    "whoami": ("footplate.cli.access.login:whoami", "Show who you are to the server, and your roles."),
    "tokens": ("footplate.cli.access.tokens:tokens", "Create, list and revoke tokens."),
    "people": ("footplate.cli.access.people:people", "People and service accounts of a team server."),
    "roles": ("footplate.cli.access.roles:roles", "Roles of people and groups in workspaces."),
    "audit": ("footplate.cli.access.audit:audit", "Search and export the log of what people did."),
    "server": ("footplate.cli.server:server", "Start, stop and inspect the server."),
    "doctor": ("footplate.cli.doctor:doctor", "Check the prerequisites of Footplate."),
    "completion": ("footplate.cli.completion:completion", "Print the completion script for your shell."),
}

INTERRUPTED = 130


class Command(click.Command):
    """A command whose help ends with examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        from footplate.cli.examples import EXAMPLES  # noqa: PLC0415  # only --help needs them

        lines = EXAMPLES.get(ctx.command_path.partition(" ")[2], ())
        if lines:
            with formatter.section("Examples"):
                for line in lines:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


class Noun(click.Group):
    """A group that answers an unknown command with similar ones."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, self.list_commands(ctx), 3)
            suggestion = f"did you mean {' or '.join(near)}? " if near else ""
            raise Unusable(f"{ctx.command_path} has no command {name!r}", f"{suggestion}see: {ctx.command_path} --help")
        return super().resolve_command(ctx, args)


class Unusable(click.UsageError):
    """A usage error with a hint of its own."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Lazy(Noun):
    """The root command. It imports its commands when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        return cast(click.Command, getattr(importlib.import_module(module), attribute))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version  # noqa: PLC0415  # 20 ms that only this option costs

        click.echo(f"footplate {version('footplate')}")
        ctx.exit()


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def cli() -> None:
    """Train on your own machines with the workflow of Azure ML SDK v1.

    \b
      footplate init                  connect this folder to a workspace
      footplate run --wait train.py   run a script and watch it
      footplate runs list             list runs

    Data goes to stdout and messages to stderr; every command that prints data accepts --json.
    """


def main() -> NoReturn:
    """Run the command; print errors as `error:` and `hint:` lines, without a traceback (unless FOOTPLATE_DEBUG=1)."""
    warnings.showwarning = _show_warning
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="surrogateescape")  # file names that are not UTF-8 are printed as they are
    try:
        outcome = cli.main(prog_name="footplate", standalone_mode=False)
        code = outcome if isinstance(outcome, int) else 0
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        code = 2
    except click.UsageError as error:
        near: list[str] = list(getattr(error, "possibilities", None) or ())
        _fail((error.message if near else error.format_message()).rstrip("."), _usage_hint(error, near))
        code = 2
    except click.ClickException as error:
        _fail(error.format_message(), "see: footplate --help")
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed it (`… | head`). Writing at exit would make Python complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1  # like click's own exit code
    except Exception as error:
        if os.environ.get(environ.DEBUG) or not _is_expected(error):
            raise
        _fail(*_words(error))
        code = 1
    sys.exit(code)


def _is_expected(error: Exception) -> bool:
    if isinstance(error, (FootplateError, OSError)):
        return True
    from footplate.sdk.exceptions import AzureMLException  # noqa: PLC0415  # only errors pay for it

    return isinstance(error, AzureMLException)


def _words(error: Exception) -> tuple[str, str]:
    """Return the message and the hint of an error; the system's errors name a file instead."""
    message: str = getattr(error, "message", str(error))
    if isinstance(error, OSError) and error.filename is not None:
        message = f"{error.filename}: {error.strerror}"
    field, verb, rest = message.partition(" is ")  # "node_count is 0": a field of the SDK that an option has set
    message = with_options(field) + verb + rest if field.isidentifier() else message
    return message, getattr(error, "hint", None) or "set FOOTPLATE_DEBUG=1 to see the traceback"


def _usage_hint(error: click.UsageError, near: list[str]) -> str:
    if isinstance(error, Unusable):
        return error.hint
    see = f"see: {error.ctx.command_path} --help" if error.ctx else "see: footplate --help"
    return f"did you mean {' or '.join(near)}? {see}" if near else see


def _show_warning(message: Warning | str, *_: object) -> None:
    click.echo(f"{paint('warning:', sys.stderr, fg='yellow', bold=True)} {message}", err=True)


def _fail(message: str, hint: str) -> None:
    click.echo(f"{paint('error:', sys.stderr, fg='red', bold=True)} {message}", err=True)
    click.echo(f"{paint('hint:', sys.stderr, fg='cyan', bold=True)} {with_options(hint)}", err=True)
