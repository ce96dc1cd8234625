"""Where the parts of a credential go: headers, query, cookies, or the environment of a server that is run here.

A placement is `{"in", "name", "template"}`; the template names inputs in braces (`Bearer {token}`). `{basic}` means
the username and password as HTTP Basic wants them, so that no one has to encode anything by hand.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from executor.errors import InvalidRequest
from executor.model.credentials import Connection, Credential, Pairs
from executor.model.digest import digest

# Environment variables that change what a program is, not what it knows: none of them carries a credential.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Read by the loader, the shell, the C library or an interpreter before the program itself does anything.
EXACT = frozenset(
    """PATH HOME SHELL PWD OLDPWD USER LOGNAME ENV BASHOPTS SHELLOPTS IFS CDPATH PS4 PROMPT_COMMAND POSIXLY_CORRECT
    TMPDIR TMP TEMP TERM TERMINFO TERMCAP LANG LANGUAGE LOCPATH NLSPATH TZ TZDIR HOSTALIASES LOCALDOMAIN RES_OPTIONS
    RESOLV_HOST_CONF NIS_PATH GCONV_PATH GETCONF_DIR LIBPATH SHLIB_PATH COMSPEC PATHEXT SYSTEMROOT WINDIR APPDATA
    LOCALAPPDATA USERPROFILE EDITOR VISUAL PAGER MANPAGER LESSOPEN LESSCLOSE BROWSER DISPLAY ZDOTDIR FPATH
    HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY NO_PROXY SOCKS_PROXY RSYNC_PROXY REQUESTS_CA_BUNDLE
    SSLKEYLOGFILE OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES KRB5_CONFIG NETRC WGETRC PERLLIB PERLDB_OPTS CLASSPATH
    GROOVY_OPTS MAVEN_OPTS MAVEN_ARGS GRADLE_OPTS GRADLE_USER_HOME ANT_OPTS SBT_OPTS R_PROFILE R_ENVIRON
    R_PROFILE_USER R_ENVIRON_USER ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS ERL_LIBS ELIXIR_ERL_OPTIONS GHCRTS OCAMLRUNPARAM
    CAMLRUNPARAM GODEBUG GOFLAGS GOPROXY GOENV GOROOT GOPATH GOTOOLCHAIN GOCACHE LUA_INIT LUA_PATH LUA_CPATH
    TCLLIBPATH PHPRC PHP_INI_SCAN_DIR JULIA_LOAD_PATH JULIA_DEPOT_PATH JULIA_PROJECT VIRTUAL_ENV DOCKER_HOST
    DOCKER_CONFIG KUBECONFIG COR_PROFILER COR_ENABLE_PROFILING MONO_PATH MONO_ENV_OPTIONS GEM_HOME GEM_PATH
    V8_OPTIONS VSCODE_INSPECTOR_OPTIONS RUSTFLAGS RUSTC""".split()  # noqa: SIM905 - names in columns read better than quotes
)
# Families that grow: whatever begins so.
PREFIXES = tuple(
    """LD_ DYLD_ _RLD GLIBC_ MALLOC_ ASAN_ LSAN_ UBSAN_ MSAN_ TSAN_ BASH_ LC_ XDG_ SSL_CERT_ CURL_ GIT_ SSH_ GNUPG
    NODE_ NPM_CONFIG_ YARN_ PNPM_ COREPACK_ NVM_ BUN_ DENO_ ELECTRON_ TSX_ TS_NODE_
    PYTHON PYENV_ PIP_ PIPX_ UV_ POETRY_ CONDA_ PDM_ VIRTUALENV_ __PYVENV
    PERL5 RUBY BUNDLE_ BUNDLER_ RBENV_ JAVA_ JDK_ JRE_ _JAVA_ DOTNET_ CORECLR_ COMPLUS_ NUGET_ MSBUILD
    CARGO_ RUSTUP_ RUSTC_ CGO_ EXECUTOR_ HOMEBREW_""".split()  # noqa: SIM905 - names in columns read better than quotes
)


def check_variable(name: str) -> None:
    """Names are compared without regard to case: some programs read both writings, and some systems know only one."""
    if not NAME.match(name):
        raise InvalidRequest(f"{name[:80]!r} is not a valid variable name", hint="use letters, digits and underscores")
    upper = name.upper()
    if upper in EXACT or upper.startswith(PREFIXES):
        raise InvalidRequest(
            f"the variable {name} changes how a program starts or where it connects, and can't carry a credential",
            hint="use the variable that the program documents for its key, such as API_KEY",
        )


PLACES = ("header", "query", "cookie", "environment")
BASIC = "basic"
# What decides where a request goes, how long it is and which session it is part of is no one's to say.
PROTOCOL_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect",
     "content-encoding", "keep-alive", "range", "last-event-id", "idempotency-key"}
)  # fmt: skip
# What a service may take for another request than the one that was shown: never a credential.
MEANINGFUL_HEADERS = frozenset(
    {"content-type", "via", "forwarded", "x-http-method", "x-http-method-override", "x-method-override",
     "x-original-url", "x-rewrite-url"}
)  # fmt: skip
_INPUT = re.compile(r"\{([a-z][a-z0-9_-]*)\}")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f]")

Placement = Mapping[str, Any]


def place(connection: Connection, values: Mapping[str, str]) -> Credential:
    """`values` are those of the connection's inputs. What comes out never leaves the process but to `origin`."""
    placed: dict[str, list[tuple[str, str]]] = {where: [] for where in PLACES}
    for placement in connection.options.get("placements", ()):
        check_placement(placement)
        placed[placement["in"]].append((placement["name"], fill(placement, values)))
    return Credential(
        connection.name,
        connection.origin,
        digest([connection.id, connection.revision]),
        headers=tuple(placed["header"]),
        query=tuple(placed["query"]),
        cookies=tuple(placed["cookie"]),
        environment=tuple(placed["environment"]),
        values=secret_values(values, tuple(pair for pairs in placed.values() for pair in pairs)),
    )


def fill(placement: Placement, values: Mapping[str, str]) -> str:
    text = _INPUT.sub(lambda match: value_of(match[1], values), placement["template"])
    if _UNSAFE.search(text) or (placement["in"] == "cookie" and ";" in text):
        raise InvalidRequest(
            f"the value for {placement['name']} contains a character that can't be sent",
            hint="enter it again without surrounding characters",
        )
    return text


def value_of(name: str, values: Mapping[str, str]) -> str:
    if name == BASIC:
        pair = f"{values.get('username', '')}:{values.get('password', '')}"
        return base64.b64encode(pair.encode()).decode()
    if name not in values:
        raise InvalidRequest(f"the connection has no value for {name!r}", hint="enter it again")
    return values[name]


def secret_values(values: Mapping[str, str], placed: Pairs) -> tuple[str, ...]:
    """Everything that must not be seen again: the inputs, but not a user's name, and every value derived from them."""
    inputs = [value for name, value in values.items() if name != "username"]
    made = [text.partition(" ")[2] for _, text in placed if text.startswith("Basic ")]
    return tuple(dict.fromkeys(value for value in (*inputs, *made) if value))


def check_placement(placement: Placement) -> None:
    where, name, template = placement.get("in"), placement.get("name"), placement.get("template")
    if where not in PLACES:
        raise InvalidRequest(f"a credential can't be put into {where!r}", hint=f"use {', '.join(PLACES)}")
    if not isinstance(name, str) or not _NAME.match(name) or len(name) > 200:
        raise InvalidRequest(f"{name!r} is not a valid {where} name", hint="use letters, digits and dashes")
    if where == "environment":
        check_variable(name)
    if where == "header" and (is_protocol_header(name) or is_meaningful_header(name)):
        raise InvalidRequest(
            f"the header {name} can't carry a credential", hint="use the header that the service documents"
        )
    if not isinstance(template, str) or _UNSAFE.search(template):
        raise InvalidRequest(f"the template of {name} is not plain text", hint="for example: Bearer {token}")


def is_protocol_header(name: str) -> bool:
    return name.lower() in PROTOCOL_HEADERS or name.lower().startswith("mcp-")


def is_meaningful_header(name: str) -> bool:
    return name.lower() in MEANINGFUL_HEADERS or name.lower().startswith(("sec-", "x-forwarded-"))


def inputs_of(placements: tuple[Placement, ...]) -> list[str]:
    """What has to be asked for."""
    names: list[str] = []
    for placement in placements:
        for name in _INPUT.findall(placement["template"]):
            names += ["username", "password"] if name == BASIC else [name]
    return list(dict.fromkeys(names))
