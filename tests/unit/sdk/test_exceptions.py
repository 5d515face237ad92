from __future__ import annotations

import json

import pytest

from footplate import errors
from footplate.errors import FootplateError
from footplate.sdk import exceptions
from footplate.sdk.exceptions import (
    AuthenticationException,
    AzureMLException,
    ServiceException,
    UserErrorException,
    WebserviceException,
    translate,
)


def every_error() -> list[type[FootplateError]]:
    found, todo = [], [FootplateError]
    while todo:
        kind = todo.pop()
        found.append(kind)
        todo += kind.__subclasses__()
    return found


@pytest.mark.parametrize("kind", every_error())
def test_every_server_error_becomes_an_azure_exception(kind: type[FootplateError]):
    error = kind("the words", "the hint", size=3)
    made = translate(error)
    assert isinstance(made, AzureMLException)
    assert (made.message, made.hint, made.inner_exception) == ("the words", "the hint", error)
    assert made.message_with_hint == "the words\nhint: the hint"


def test_the_class_follows_the_code():
    assert type(translate(errors.InvalidInput("x"))) is UserErrorException
    assert type(translate(errors.NotAllowed("x"))) is AuthenticationException
    refused = translate(errors.Conflict("x"))
    assert type(refused) is ServiceException and refused.status_code == 409


def test_a_request_may_map_codes_and_their_subclasses():
    kinds = {"conflict": WebserviceException}
    made = translate(errors.InvalidTransition("x"), kinds)
    assert type(made) is WebserviceException and made.status_code == 409
    assert type(translate(errors.InvalidInput("x"), kinds)) is UserErrorException


def test_the_class_tree_is_azures():
    names = {name for name in vars(exceptions) if name.endswith(("Exception", "Error")) and not name.startswith("_")}
    for name in names - {"FootplateError"}:
        assert issubclass(getattr(exceptions, name), AzureMLException), name
    assert issubclass(AuthenticationException, UserErrorException)
    assert not issubclass(UserErrorException, FootplateError)


def test_exceptions_accept_azures_arguments():
    inner = ValueError("v")
    made = exceptions.ComputeTargetException("gone", inner_exception=inner)
    assert made.message == "gone" and made.inner_exception is inner


def test_the_text_has_azures_frame_with_the_hint():
    made = UserErrorException("no such file: a\tb", hint="look again")
    first, _, response = str(made).partition("\tErrorResponse \n")
    assert first == "UserErrorException:\n\tMessage: no such file: a\tb\nhint: look again\n\tInnerException None\n"
    assert json.loads(response) == {"error": {"code": "UserError", "message": "no such file: a\tb"}}
    framed = str(exceptions.ComputeTargetException("gone", inner_exception=ValueError("v")))
    assert "\tInnerException ValueError('v')\n" in framed and '"code"' not in framed
