"""What a kind is given to read a source: what was asked, what people agreed to, how it was last read, and the reading.

A frozen dataclass for each, see `SourceRequest`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from executor.dataclass import dataclass
from executor.model.credentials import Credential
from executor.model.policy import ApprovalDefaults
from executor.model.source import ALL_TOOLS, Choice
from executor.sources.deprecated import OldRequestNames, accept_old_names

if TYPE_CHECKING:
    from executor.sources.first_look import Explained, FirstLook

Progress = Callable[[str], None]


def silent(text: str) -> None:
    """Progress that no one watches."""


def as_it_came(content: bytes) -> bytes:
    """For a source that is read without any credential: there is nothing that it could echo."""
    return content


@dataclass(frozen=True, slots=True)
class Consent:
    """What people agreed to. Nothing else is opened or run.

    `private_network`: what the request itself names may be on a private network. `granted` are the private origins that
    this opened when the source was added, None as long as that is not decided (see `address_grants`); an address found
    later opens nothing. `runs_code`: a human saw what is going to be run (a command, a module to import).
    `by_operator`: that was the operator of this installation, who alone decides what runs on its machine. `by_code`:
    submitted code asked, and people have seen only the request. `inherit_policies`: an administrator agreed that the
    policies which allow calls in its namespace apply to it too. `approval_defaults`: what an administrator wants to
    happen to calls that no policy decides about; submitted code has no say in it. `by_stranger`: no one vouches for
    those who agreed, so only a service at a public address is read, once.
    """

    private_network: bool = False
    granted: tuple[str, ...] | None = None
    runs_code: bool = False
    by_operator: bool = False
    by_code: bool = False
    by_stranger: bool = False
    inherit_policies: bool = False
    approval_defaults: ApprovalDefaults = field(default_factory=dict)

    @property
    def origins(self) -> tuple[str, ...]:
        return self.granted or ()


@dataclass(frozen=True, slots=True)
class Previous:
    """For a refresh: what the last reading left.

    `validators` are for a conditional request. `names` are the names its tools have (`group.name`, without the
    namespace) by the operation they belong to (`tool.binding["operation"]`), so that they stay. With `is_edited` people
    have changed its settings, and what the request names now is agreed to as for a new source.
    """

    source_id: str = ""
    validators: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    is_edited: bool = False


@dataclass(frozen=True, slots=True)
class ReadContext:
    """Of one reading; kept nowhere.

    `credential` goes with the requests to its own origin. `redact` takes any echo of it, or of the source's headers,
    out of what was read. While all kinds check an address, `first_look` is what a GET said of it. `warn` is called
    with what people should know although it worked.
    """

    progress: Progress = silent
    credential: Credential | None = None
    redact: Callable[[bytes], bytes] = as_it_came
    first_look: FirstLook | None = None
    warn: Progress = silent

    async def find_explanation(self) -> Explained:
        """Nothing is posted to an address that a GET has explained."""
        return await self.first_look.result() if self.first_look is not None else ""


@accept_old_names
@dataclass(frozen=True, slots=True)
class SourceRequest(OldRequestNames):
    """What someone asked to connect.

    `location` is a URL or the path of a file, `document` the file's content when a client uploads it. `command` is the
    command line of a server that speaks over standard input and output. Without a `kind` the address is probed.
    `headers` go with every request of the source. `choice` says which of its tools are wanted; the catalog leaves the
    others out. `undetermined`: its kind is a guess, because it wants a credential before it says what it is. Only a
    source that is refreshed (`previous`) is read from a file on disk, because a new request's path may come from
    anyone.
    """

    kind: str = ""
    location: str = ""
    document: bytes | None = None
    command: tuple[str, ...] = ()
    namespace: str = ""
    name: str = ""
    base_url: str = ""
    spec_url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    choice: Choice = ALL_TOOLS
    undetermined: bool = False
    consented: Consent = field(default_factory=Consent)
    previous: Previous | None = None
    context: ReadContext = field(default_factory=ReadContext)

    @property
    def is_new(self) -> bool:
        """Nothing that it names has been agreed to before."""
        return self.previous is None or self.previous.is_edited

    @property
    def validators(self) -> dict[str, str]:
        return self.previous.validators if self.previous is not None else {}

    @property
    def names(self) -> dict[str, str]:
        return self.previous.names if self.previous is not None else {}
