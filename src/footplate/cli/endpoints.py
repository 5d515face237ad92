"""`footplate endpoints`."""

from __future__ import annotations

import time
from typing import Any

import click

from footplate.cli.console import (
    ago,
    emit,
    emit_or_pairs,
    emit_or_say,
    print_pairs,
    printable,
    say,
    tag_words,
    when,
    word,
)
from footplate.cli.context import (
    confirm,
    in_workspace,
    in_workspace_with_json,
    json_option,
    names_of,
    open_workspace,
    parse_version,
    workspace_option,
    yes_option,
)
from footplate.cli.main import Noun
from footplate.cli.tables import print_list, print_table
from footplate.domain.serving.endpoints import EndpointView, ServiceLog, VersionView
from footplate.errors import FootplateError
from footplate.sdk.display.status_line import working
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.models.model import Model
from footplate.sdk.models.webservice import Webservice, service_of
from footplate.sdk.workspace import Workspace

FOLLOW_SECONDS = 0.5
name_argument = click.argument("name", shell_complete=names_of("endpoints"))


@click.group(cls=Noun)
def endpoints() -> None:
    """Web services: list, call, update, split and delete them.

    Deploy one with: footplate models deploy.
    """


@endpoints.command("list")
@in_workspace_with_json
def list_endpoints(workspace: Workspace, as_json: bool) -> None:
    """List web services."""
    views = list(workspace.session.api.endpoints.list(workspace.id))
    print_list(
        as_json, views, "no web services", ["name", "state", "models", "changed", "scoring address"],
        lambda v: [v.name, word(v.state), _models(v), ago(v.modified), _scoring_address(workspace, v)],
        drop=["changed", "models"],
    )  # fmt: skip


@endpoints.command()
@name_argument
@in_workspace_with_json
def show(name: str, workspace: Workspace, as_json: bool) -> None:
    """Show a web service, its versions and their figures of the last minute."""
    view = workspace.session.api.endpoints.get(workspace.id, name)
    if as_json:
        emit(view)
        return
    settings = view.settings
    print_pairs(
        [
            ("name", view.name),
            ("state", word(view.state)),
            ("url", view.url),
            ("scoring address", _scoring_address(workspace, view)),
            ("problem", view.cause.message if view.cause else None),
            ("waits", next((version.waiting for version in view.versions if version.waiting), None)),
            ("authentication", settings.auth),
            ("description", settings.description),
            ("tags", tag_words(settings.tags)),
            ("created", f"{when(view.created)} ({ago(view.created)})"),
        ]
    )
    columns = ["version", "state", "share", "models", "target", "workers", "requests", "errors", "p50", "p99"]
    print_table(columns, [_row(version) for version in view.versions], right=columns[5:], drop=["models", "target"])


@endpoints.command()
@name_argument
@click.argument("data", required=False)
@click.option("--file", "-f", "file", type=click.File("rb"), help="Send the content of a file; - is stdin.")
@workspace_option
@json_option
def call(name: str, data: str | None, file: Any, workspace_name: str | None, as_json: bool) -> None:
    """Send DATA to a web service and print the answer, which is JSON with or without --json."""
    if (data is None) == (file is None):
        raise click.UsageError("give DATA or --file")
    body = data if data is not None else file.read()
    emit(Webservice(open_workspace(workspace_name), name).run(body))


@endpoints.command()
@name_argument
@click.option("--follow", "-f", is_flag=True, help="Print new lines as they come, until Ctrl-C.")
@click.option("--lines", "-n", type=click.IntRange(1, 100_000), default=1000, show_default=True)
@click.option("--version", type=int, metavar="N", help="A version.  [default: the newest]")
@in_workspace
def logs(name: str, follow: bool, lines: int, version: int | None, workspace: Workspace) -> None:
    """Print the output of a web service's workers."""

    def read() -> ServiceLog:
        return workspace.session.api.endpoints.logs(workspace.id, name, lines=lines, version=version)

    log = read()
    click.echo(printable(log.complete(), but="\n\t"))
    text = log.text
    while follow:
        time.sleep(FOLLOW_SECONDS)
        after = read().text
        fresh = _new_part(text, after)
        if fresh:
            click.echo(printable(fresh, but="\n\t"))
        text = after


@endpoints.command()
@name_argument
@click.option("--model", "models", multiple=True, metavar="NAME[:VERSION]", help="The models of a new version.")
@click.option("--script", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="A script with run(data).")
@click.option("--share", type=click.FloatRange(0, 100), default=100.0, show_default=True, metavar="PERCENT",
              help="The share of the requests that the new version gets.")  # fmt: skip
@click.option("--shadow", is_flag=True, help="Send copies of the requests to the new version, and compare answers.")
@click.option("--rollback", "rollback_seconds", type=click.FloatRange(0), metavar="SECONDS",
              help="Keep the old version for that long, and return to it if the new one does badly.")  # fmt: skip
@click.option("--idle-seconds", type=click.FloatRange(0), metavar="SECONDS",
              help="Stop the last replica after that long without a request, if the service needs none.")  # fmt: skip
@click.option("--cors", multiple=True, metavar="ORIGIN",
              help="A web page that may call the service, such as https://app.example.com; * is any, none removes all."
              )  # fmt: skip
@workspace_option
@json_option
def update(
    name: str, models: tuple[str, ...], script: str | None, cors: tuple[str, ...], workspace_name: str | None,
    as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Change a web service, and wait until it takes requests.

    Other models, another script or other idle seconds begin a new version.
    """
    if not models and not cors and script is None and options["rollback_seconds"] is options["idle_seconds"] is None:
        raise click.UsageError("give --model, --script, --rollback, --idle-seconds or --cors")
    workspace = open_workspace(workspace_name)
    chosen = [Model(workspace, model, version=number) for model, number in map(parse_version, models)] or None
    service = Webservice(workspace, name)
    config = InferenceConfig(script) if script else None
    origins = None if not cors else [] if cors == ("none",) else list(cors)
    service.change(models=chosen, inference_config=config, cors=origins, **options)
    with working(f"updating {name}"):
        service.wait_for_deployment()
    view = workspace.session.api.endpoints.get(workspace.id, name)
    emit_or_say(as_json, view, f"version {view.versions[-1].number} of {name} takes requests")


@endpoints.command()
@name_argument
@click.argument("shares", nargs=-1, required=True, metavar="VERSION=PERCENT...")
@workspace_option
@json_option
def split(name: str, shares: tuple[str, ...], workspace_name: str | None, as_json: bool) -> None:
    """Set the percentage of the requests that versions get, such as 1=90 2=10.

    Versions that are not named keep the rest, in proportion to the shares that they have.
    """
    weights: dict[int, float] = {}
    for share in shares:
        version, _, percent = share.partition("=")
        try:
            number, weight = int(version), float(percent)
        except ValueError:
            raise click.BadParameter(f"{share!r} is not VERSION=PERCENT", param_hint="SHARES") from None
        if number in weights:
            raise click.BadParameter(f"version {number} is given twice", param_hint="SHARES")
        weights[number] = weight
    workspace = open_workspace(workspace_name)
    view = workspace.session.api.endpoints.split(workspace.id, name, weights)
    emit_or_say(as_json, view, ", ".join(f"version {v.number}: {v.weight:g} %" for v in view.versions if v.weight))


@endpoints.command()
@name_argument
@click.option("--renew", type=click.Choice(["primary", "secondary"]), help="Replace this key first; the other stays.")
@in_workspace_with_json
def keys(name: str, renew: str | None, workspace: Workspace, as_json: bool) -> None:
    """Show the keys of a web service, or a new token if it takes tokens.

    A request sends one in its header: `Authorization: Bearer KEY`. Either key is valid, so that clients can change to
    the other one before it is renewed.
    """
    api = workspace.session.api.endpoints
    auth = api.get(workspace.id, name).settings.auth
    if auth == "none":
        again = f"footplate models deploy MODEL {name} --key --overwrite"
        raise UserErrorException(f"web service {name} requires no key", hint=f"deploy it with one: {again}")
    if auth == "token":
        token = api.token(workspace.id, name)
        facts = [("token", token.token), ("expires", when(token.expires))]
    else:
        pair = api.keys(workspace.id, name, renew=renew)
        facts = [("primary", pair.primary), ("secondary", pair.secondary)]
    emit_or_pairs(as_json, dict(facts), facts)


@endpoints.command()
@name_argument
@yes_option
@in_workspace
def delete(name: str, yes: bool, workspace: Workspace) -> None:
    """Delete a web service. Requests in hand are answered first."""
    service = Webservice(workspace, name)
    confirm(f"delete web service {name} for good?", yes)
    with working(f"deleting {name}"):
        service.delete()
    say(f"{name} is deleted")


def _scoring_address(workspace: Workspace, view: EndpointView) -> str | None:
    """Return the address that takes requests; that of the service if it has no version, or its model was deleted."""
    try:
        return service_of(workspace, view).scoring_uri if view.versions else view.url
    except FootplateError:
        return view.url


def _models(view: EndpointView) -> str:
    return ", ".join(view.versions[-1].spec.models) if view.versions else ""


def _row(version: VersionView) -> list[Any]:
    share = "shadow" if version.shadow else f"{version.weight:g}"
    times = [
        None if value is None else f"{value * 1000:.1f} ms" for value in (version.p50_seconds, version.p99_seconds)
    ]
    workers = f"{version.healthy}/{version.replicas}"
    models = ", ".join(version.spec.models)
    called = f"{version.number} {version.spec.name or ''}".rstrip()
    target = version.spec.target
    return [called, version.state, share, models, target, workers, version.requests, version.errors, *times]


def _new_part(before: str, after: str) -> str:
    """Return the part of a log that is new: the log may have lost its beginning meanwhile."""
    old_lines, lines = before.splitlines(), after.splitlines()
    for overlap in range(min(len(old_lines), len(lines)), -1, -1):
        if old_lines[len(old_lines) - overlap :] == lines[:overlap]:
            return "\n".join(lines[overlap:])
    return after
