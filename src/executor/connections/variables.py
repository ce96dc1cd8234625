"""Environment variables that change what a program is, not what it knows: none of them carries a credential."""

from __future__ import annotations

import re

from executor.errors import InvalidRequest

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
        raise InvalidRequest(f"{name[:80]!r} is no name of a variable", hint="letters, digits and underscores")
    upper = name.upper()
    if upper in EXACT or upper.startswith(PREFIXES):
        raise InvalidRequest(
            f"the variable {name} changes how a program starts or where it connects, and can't carry a credential",
            hint="use the variable that the program documents for its key, such as API_KEY",
        )
