"""Where the daemon is, and the token for it: as given, or those of this machine's own daemon.

The operator's token of this machine is only ever sent to the process that holds the lock of its data directory.
"""

from __future__ import annotations

from dataclasses import field
from urllib.parse import urlsplit

from executor.daemon import control
from executor.daemon.local_credential import given_token, token, workspace_header
from executor.dataclass import dataclass
from executor.errors import DaemonStarting, InvalidRequest, RequestUnsent
from executor.settings import Settings, bracket_host


@dataclass(frozen=True, slots=True)
class Address:
    """`prefix` is the path before `/v1`, of a daemon behind a proxy."""

    secure: bool
    host: str
    port: int
    prefix: str
    headers: dict[str, str] = field(repr=False)

    @property
    def origin(self) -> str:
        return f"{'https' if self.secure else 'http'}://{bracket_host(self.host)}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.origin}{self.prefix}"


class Location:
    def __init__(self, url: str | None, token: str | None, workspace: str | None, *, start: bool = False) -> None:
        self._token = check_visible(token or "", "the token")
        self._workspace = check_visible(workspace or "", "the workspace")
        self._start = start
        self._fixed = self._read_url(url) if url else None

    def find(self) -> Address:
        """Looked up for each connection: after a restart, the daemon of this machine may have another port."""
        return self._fixed or self._find_local()

    def _find_local(self) -> Address:
        settings = Settings.load()
        running = control.ensure(settings) if self._start else control.find(settings)
        if running is None:
            raise _missing(settings)
        return Address(False, running.host, running.port, "", self._headers(self._token or token(settings)))

    def _read_url(self, url: str) -> Address:
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            raise _address_error() from None
        odd = parts.username or parts.password or parts.query or parts.fragment
        if parts.scheme not in ("http", "https") or not parts.hostname or odd or not url.isascii():
            raise _address_error()
        shown = self._token or given_token() or self._own_token(parts.hostname, port)
        prefix = parts.path.rstrip("/").removesuffix("/v1")
        return Address(parts.scheme == "https", parts.hostname, port, prefix, self._headers(shown))

    def _own_token(self, host: str, port: int) -> str:
        """Only if the address is that of this machine's own daemon."""
        settings = Settings.load()
        running = control.find(settings)
        own = running and running.port == port and host in (running.host, "127.0.0.1", "localhost")
        if not own:
            raise InvalidRequest(
                "a token is missing for this address",
                hint="pass `token=`, or set EXECUTOR_TOKEN; `executor keys create` creates one",
            )
        return token(settings)

    def _headers(self, shown: str) -> dict[str, str]:
        workspace = {"X-Executor-Workspace": self._workspace} if self._workspace else workspace_header()
        return {"Authorization": f"Bearer {shown}", **workspace}


def check_visible(text: str, what: str) -> str:
    """What is in a header must not end it; and a library would show the text in its own error."""
    if not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidRequest(f"{what} contains characters that it can't have", hint="copy it again")
    return text


def _address_error() -> InvalidRequest:
    return InvalidRequest("`url` is not an address", hint="write http://host:port or https://host, without credentials")


def _missing(settings: Settings) -> RequestUnsent:
    if pid := control.look(settings).pid:
        return DaemonStarting(f"the daemon (process {pid}) is starting", hint=f"its log is {settings.log_file}")
    return RequestUnsent(
        f"no daemon is running for the data directory {settings.data_dir}",
        hint="start it with `executor up`, pass `url=`, or use `Executor.embedded()`",
    )
