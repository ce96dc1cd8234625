"""What a sandbox host says of itself, asked with the standard library: for `executor doctor`."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

from executor.dataclass import dataclass
from executor.errors import RemoteRefused
from executor.runtime.remote import address
from executor.runtime.remote.address import host_token
from executor.runtime.worker.seal import Layer

SECONDS = 5.0
_LARGEST = 65536


@dataclass(frozen=True, slots=True)
class Presence:
    version: str
    runtimes: tuple[str, ...]
    places: int
    runs: int
    layers: tuple[Layer, ...]


def look(url: str, token_file: Path | None) -> Presence:
    """Raises OSError when no one answers, and one of our errors when the answer is no."""
    headers = {"Authorization": f"Bearer {host_token(token_file)}"}
    request = urllib.request.Request(f"{address.check_url(url, 'remote_url')}/host", headers=headers)  # noqa: S310 - checked
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=SECONDS) as answer:
            report = json.loads(answer.read(_LARGEST))
        names = tuple(str(name) for name in report["runtimes"])
        layers = tuple(Layer(str(one["name"]), bool(one["active"]), str(one["detail"])) for one in report["layers"])
        return Presence(str(report["version"]), names, int(report["places"]), int(report["runs"]), layers)
    except urllib.error.HTTPError as error:
        with error:
            hint = "check that remote_token_file contains the token of that host"
            raise RemoteRefused(f"the sandbox host refused with {error.code}", hint=hint) from error
    except (ValueError, KeyError, TypeError) as error:
        raise RemoteRefused("the server at this address is not a sandbox host", hint="check remote_url") from error
