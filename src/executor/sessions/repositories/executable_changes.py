"""Changes that will execute: files that a person's tools run, outside any sandbox, once the changes are theirs."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import PurePosixPath

# The pattern of a whole path, or of its last part where it has no slash; and what runs it.
RUNS: tuple[tuple[str, str], ...] = (
    (".git/**", "git"),
    (".githooks/**", "git hooks"),
    (".husky/**", "git hooks"),
    (".gitattributes", "git filters"),
    (".gitmodules", "git submodules"),
    (".pre-commit-config.y*ml", "pre-commit"),
    (".lefthook.y*ml", "git hooks"),
    (".envrc", "direnv"),
    (".env", "programs that read it"),
    (".tool-versions", "asdf"),
    ("mise.toml", "mise"),
    (".mise.toml", "mise"),
    (".vscode/**", "the editor"),
    (".idea/**", "the editor"),
    ("*.code-workspace", "the editor"),
    (".devcontainer/**", "the editor"),
    (".cursor/**", "a coding agent"),
    (".claude/**", "a coding agent"),
    (".codex/**", "a coding agent"),
    (".agents/**", "a coding agent"),
    (".gemini/**", "a coding agent"),
    (".opencode/**", "a coding agent"),
    ("opencode.json*", "a coding agent"),
    (".mcp.json", "a coding agent"),
    ("AGENTS.md", "a coding agent"),
    ("CLAUDE.md", "a coding agent"),
    ("GEMINI.md", "a coding agent"),
    (".github/**", "continuous integration"),
    (".gitlab-ci.y*ml", "continuous integration"),
    (".circleci/**", "continuous integration"),
    ("Jenkinsfile", "continuous integration"),
    ("package.json", "npm scripts"),
    (".npmrc", "npm"),
    (".yarnrc*", "yarn"),
    ("Makefile", "make"),
    ("*.mk", "make"),
    ("justfile", "just"),
    ("Justfile", "just"),
    ("Taskfile.y*ml", "task"),
    ("Rakefile", "rake"),
    ("build.rs", "cargo"),
    ("build.gradle*", "gradle"),
    ("conftest.py", "pytest"),
    ("setup.py", "pip"),
    ("pyproject.toml", "Python build tools"),
    ("noxfile.py", "nox"),
    ("tox.ini", "tox"),
    ("sitecustomize.py", "Python"),
    ("*.pth", "Python"),
    ("Dockerfile*", "docker"),
    ("docker-compose*.y*ml", "docker"),
    (".bashrc", "a shell"),
    (".bash_profile", "a shell"),
    (".profile", "a shell"),
    (".zshrc", "a shell"),
    (".zprofile", "a shell"),
    ("*.sh", "a shell"),
)
EXECUTABLE, LINK = "100755", "120000"


def runner_of(path: str, mode: str = "") -> str:
    """What would run a changed file; empty for one that nothing runs by its name."""
    name = PurePosixPath(path).name
    for pattern, what in RUNS:
        if fnmatch(path, pattern) if "/" not in pattern else is_inside(path, pattern.removesuffix("/**")):
            return what
        if "/" not in pattern and fnmatch(name, pattern):
            return what
    if mode == EXECUTABLE:
        return "anyone: it is executable"
    return "programs that follow the link" if mode == LINK else ""


def is_inside(path: str, folder: str) -> bool:
    """At any depth: repositories hold others."""
    return any(fnmatch(part, folder) for part in PurePosixPath(path).parts[:-1])
