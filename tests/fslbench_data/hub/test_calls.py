"""What the Hub's client raises, as this package's errors."""

import errno
from importlib import import_module

import pytest
from huggingface_hub import errors

from benchmark_spec.errors import (
    FSLBenchError,
    HubAccessError,
    HubError,
    HubNotFoundError,
    HubUnreachableError,
    OutputError,
)
from fslbench_data.hub import hub_errors, plain

TOKEN = "hf_" + "A1b2" * 8


def _answer(status: int, kind: type[errors.HfHubHTTPError] = errors.HfHubHTTPError) -> Exception:
    http = import_module(errors.HfHubHTTPError.__mro__[1].__module__.split(".")[0])
    request = http.Request("GET", f"http://hub/x?token={TOKEN}", headers={"authorization": TOKEN})
    response = http.Response(status, request=request)
    return kind(f"{status} for {TOKEN}", response=response, server_message=f"no: Bearer {TOKEN}")


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (_answer(401), HubAccessError),
        (_answer(403), HubAccessError),
        (_answer(404, errors.RevisionNotFoundError), HubNotFoundError),
        (_answer(409), HubError),
        (_answer(412), HubError),
        (_answer(418), HubError),
        (_answer(429), HubUnreachableError),
        (errors.OfflineModeIsEnabled("off"), HubUnreachableError),
        (errors.LocalEntryNotFoundError("nothing"), HubUnreachableError),
        (errors.FileMetadataError("no commit"), HubUnreachableError),
        (errors.HFValidationError("a//b"), HubError),
        (UnicodeEncodeError("ascii", "hf_é", 3, 4, "ordinal not in range"), HubAccessError),
        (OSError(errno.ENOSPC, "No space left on device", "/cache/x"), OutputError),
        (OSError("Consistency check failed: file should be of size 3"), HubUnreachableError),
        (ValueError("LFS batch API returned errors:\nrefused"), HubError),
    ],
)
def test_each_kind_has_its_own_error(raised: Exception, expected: type[FSLBenchError]) -> None:
    with pytest.raises(FSLBenchError) as caught, hub_errors("fetching x", "org/name"):
        raise raised
    assert type(caught.value) is expected
    assert "hf_" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_the_first_cause_says_most() -> None:
    wrapped = RuntimeError("Error while uploading 'x' to the Hub.")
    wrapped.__cause__ = _answer(403)
    with pytest.raises(HubAccessError), hub_errors("uploading", "org/name"):
        raise wrapped


def test_own_errors_and_defects_pass() -> None:
    with pytest.raises(HubNotFoundError, match="mine"), hub_errors("x", "org/name"):
        raise HubNotFoundError("mine")
    with pytest.raises(ZeroDivisionError), hub_errors("x", "org/name"):
        raise ZeroDivisionError


def test_foreign_messages_are_printable_and_without_secrets() -> None:
    said = plain(f"\n\x1b[31mno\x07: token={TOKEN} for ?X-Amz-Signature=abc&x=1\nmore")
    assert said == "?[31mno?: … for …"
