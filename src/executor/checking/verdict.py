"""What a checker's findings mean for the calls of a program: which of them keep it from running, and why.

Only two things do: a tool that does not exist, and arguments that a call would be refused for. Both are held against
the catalog itself before they count, because a checker knows types, not values, and code is often right without being
well typed. Whatever stays in doubt is a warning, and so is a call whose failure the code itself catches.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from executor.checking.certainty import impossible
from executor.checking.diagnostics import Diagnostic, Finding, Lines, truncate
from executor.checking.path_index import Names
from executor.checking.source.argument_literals import read_arguments
from executor.checking.source.error_handling import is_caught
from executor.checking.source.lexer import Language
from executor.checking.source.tool_calls import Chain, Outline
from executor.errors import ToolError
from executor.model.tool import Tool
from executor.policy.visibility import Visibility

ABSENT = {"TS2339", "TS2551", "TS2550", "TS2568", "missing-attribute"}
ARGUMENTS = {
    "TS2322", "TS2345", "TS2353", "TS2554", "TS2555", "TS2556", "TS2559", "TS2560", "TS2561", "TS2739", "TS2740",
    "TS2741", "TS2769", "TS2820", "TS2326", "TS2418", "TS2375", "TS2379",
    "invalid-argument-type", "missing-argument", "unknown-argument", "invalid-typed-dict-key",
    "missing-typed-dict-key", "unknown-typed-dict-constructor-key", "no-matching-overload",
    "too-many-positional-arguments", "positional-only-parameter-as-kwarg", "parameter-already-assigned",
}  # fmt: skip
# Said of code that is fine without types: parameters no one gave a type, and what follows from them.
IGNORED = re.compile(
    r"TS7\d{3}|TS18046|TS18047|TS18048|TS2531|TS2532|TS2533|TS6\d{3}|TS80\d{3}|TS2683|TS1108|TS1378|TS2872"
)
SYNTAX = re.compile(r"TS1\d{3}|invalid-syntax")
# The program itself is not well typed here, so types say little about what it gives to calls.
LOOSE_PROGRAM = {"TS2339", "TS2551", "TS2403", "TS2304", "TS2322", "unresolved-reference", "invalid-assignment"}
NOT_CALLABLE = {"TS2349", "call-non-callable"}
REBINDING = {"global", "nonlocal", "exec", "globals", "vars", "__dict__", "setattr"}
ADDS_TOOLS = "executor.sources.add"
MAX_CALLS_CHECKED = 50
VAGUE, LONG = {"no-matching-overload", "TS2769"}, 300


class Library(Protocol):
    """What the check needs from the catalog, built-in tools included."""

    async def find(self, workspace_id: str, path: str) -> Tool | None: ...

    async def check(self, tool: Tool, arguments: dict[str, Any]) -> None: ...

    async def signature(self, workspace_id: str, tool: Tool, language: Language) -> str: ...

    async def nearest(self, workspace_id: str, path: str, visibility: Visibility | None) -> list[str]: ...

    async def visibility(self, workspace_id: str, actor_id: str, toolkit_id: str) -> Visibility | None: ...

    async def input_schema(self, workspace_id: str, tool: Tool) -> dict[str, Any]: ...


Recheck = Callable[[], Awaitable[list[Finding]]]


@dataclass
class Case:
    """One program, and what was found out about its calls on the way."""

    workspace_id: str
    outline: Outline
    names: Names
    library: Library
    recheck: Recheck
    lines: Lines
    visibility: Visibility | None = None
    _problems: dict[int, tuple[list[dict[str, str]], bool] | None] = field(default_factory=dict)
    _loose: list[Finding] | None = None

    async def judge(self, findings: Sequence[Finding]) -> list[Diagnostic]:
        """Where the syntax is wrong, the sandbox will say so better; types are then only guessed at."""
        findings = [one for one in findings if not IGNORED.fullmatch(one.code)]
        if any(SYNTAX.fullmatch(one.code) for one in findings):
            return []
        judged = [await self._judge(one, findings) for one in findings]
        return [one for one in judged if one is not None]

    async def _judge(self, finding: Finding, findings: Sequence[Finding]) -> Diagnostic | None:
        if finding.code in ABSENT:
            chain = self.outline.chain_at(finding.start, finding.end)
            if chain is not None:
                return await self._absent(chain, finding)
        if finding.code in NOT_CALLABLE and (chain := self.outline.call_named(finding.start)) is not None:
            return await self._group(chain, finding)
        call = self._call_of(finding)
        if call is None:
            return self._diagnose(finding, "warning")
        tool = await self.library.find(self.workspace_id, self.outline.path(call))
        if tool is None or self._is_outside_toolkit(tool):
            return self._diagnose(finding, "warning")
        if self.visibility is not None and self.visibility.hides(tool.path, tool.effect):
            return None  # the call is refused, and nothing is said of the tool
        is_wrong = finding.code in ARGUMENTS and await self._is_wrong(tool, call, finding, findings)
        if not is_wrong and finding.code in ARGUMENTS and self._is_dict_from_elsewhere(call):
            return None
        is_wrong = is_wrong and not is_caught(self.outline, call)
        finding = self._explain(call, finding) if is_wrong else finding
        signature = await self.library.signature(self.workspace_id, tool, self.outline.language)
        return self._diagnose(finding, "error" if is_wrong else "warning", tool=tool.path, signature=signature)

    def _is_outside_toolkit(self, tool: Tool) -> bool:
        """Then there is no such tool, as far as the code is concerned."""
        scope = self.visibility.toolkit if self.visibility is not None else None
        return scope is not None and scope.hides(tool.path, tool.effect)

    # -- tools that do not exist ------------------------------------------------------------------------------------

    async def _absent(self, chain: Chain, finding: Finding) -> Diagnostic | None:
        path = self.outline.path(chain)
        segments = tuple(path.split(".")) if path else ()
        known = self.names.known_length(segments)
        if known == len(segments):
            return None  # it exists, only no one had declared it
        if self.names.is_tool(".".join(segments[:known])):
            return self._diagnose(finding, "warning")  # a property of a tool: `tools.a.b.name`
        at = chain.places[max(0, len(chain.places) - (len(segments) - known))]
        return await self._missing(chain, path, at)

    async def _group(self, chain: Chain, finding: Finding) -> Diagnostic | None:
        """A call of what only has tools below it. In Python, `tools` itself may be called with a path."""
        path = self.outline.path(chain)
        if not path or self.names.is_tool(path):
            return None
        return await self._missing(chain, path, chain.places[-1]) if self.names.is_group(path) else None

    async def _missing(self, chain: Chain, path: str, at: int) -> Diagnostic:
        near = await self.library.nearest(self.workspace_id, path, self.visibility)
        find = "tools.discover({query})" if self.outline.language == "typescript" else "tools.discover(query=…)"
        hint = f"did you mean {', '.join(near)}?" if near else f"find tools with {find}"
        severity = "error" if chain.is_call and not self._may_come(chain) else "warning"
        end = self.outline.tokens[chain.last].end
        message = f"there is no tool {truncate(path, 200)!r}"
        return self._place(Finding("unknown_tool", message, at, end), severity, tool=path[:200], hint=hint)

    def _may_come(self, chain: Chain) -> bool:
        """The program connects a source itself, means something else by the name, or catches what then happens."""
        if self.outline.rebinds_root or is_caught(self.outline, chain):
            return True
        return any(one.is_call and self.outline.path(one) == ADDS_TOOLS for one in self.outline.chains)

    # -- arguments ---------------------------------------------------------------------------------------------------

    def _call_of(self, finding: Finding) -> Chain | None:
        return self.outline.call_at(finding.start) or self.outline.call_named(finding.start)

    def _is_dict_from_elsewhere(self, call: Chain) -> bool:
        """Python's checker objects to every dict that is not written in the call itself: it does not know its keys."""
        return (
            self.outline.language == "python" and "" in read_arguments(self.outline.arguments(call), "python").unknown
        )

    async def _is_wrong(self, tool: Tool, call: Chain, finding: Finding, findings: Sequence[Finding]) -> bool:
        """Refused whatever the unknown parts are; or, where the value is not written there, impossible by its type."""
        checked = await self._check_call(tool, call)
        if checked is None:
            return False
        problems, is_whole = checked
        if problems:
            return True
        if is_whole:
            return False  # the catalog takes these very arguments
        is_certain = impossible(finding) and not self._changes_names_from_afar()
        return is_certain and self._is_well_typed(findings, finding) and await self._stays(finding)

    async def _check_call(self, tool: Tool, call: Chain) -> tuple[list[dict[str, str]], bool] | None:
        """The problems that are certain, and whether all of the arguments could be read; None if nothing is known."""
        if call.first not in self._problems and len(self._problems) < MAX_CALLS_CHECKED:
            self._problems[call.first] = await self._validate(tool, call)
        return self._problems.get(call.first)

    async def _validate(self, tool: Tool, call: Chain) -> tuple[list[dict[str, str]], bool] | None:
        if self.outline.rebinds_root:
            return None
        read = read_arguments(self.outline.arguments(call), self.outline.language)
        if not read.is_object:
            how = "{name: value}" if self.outline.language == "typescript" else "name=value, or one dict"
            return [{"at": "", "message": f"a tool takes one object of arguments: {how}"}], True
        if "" in read.unknown:
            return [], False
        try:
            await self.library.check(tool, read.value)
        except ToolError as refusal:
            if refusal.tool_code != "invalid_arguments":
                return [], not read.unknown
            problems = (refusal.tool_details or {}).get("problems") or []
            if self.visibility is not None and self.visibility.toolkit is not None and tool.known_keys.get("type"):
                problems = [{**one, "message": "it is not valid"} for one in problems]  # suggestions name other tools
            return [one for one in problems if read.is_certain(str(one.get("at", "")))], not read.unknown
        return [], not read.unknown

    def _explain(self, call: Chain, finding: Finding) -> Finding:
        """Of several ways to call, checkers say only that none fits; the catalog says what is wrong."""
        checked = self._problems.get(call.first)
        is_clear = self.outline.language == "typescript" and finding.code not in VAGUE and len(finding.message) <= LONG
        if checked is None or not checked[0] or is_clear:
            return finding
        said = "; ".join(": ".join(filter(None, (one.get("at", "").lstrip("/"), one["message"]))) for one in checked[0])
        return Finding(finding.code, said, finding.start, finding.end)

    def _is_well_typed(self, findings: Sequence[Finding], finding: Finding) -> bool:
        others = (one for one in findings if one is not finding and one.code in LOOSE_PROGRAM)
        return not any(
            self._call_of(one) is None and self.outline.chain_at(one.start, one.end) is None for one in others
        )

    def _changes_names_from_afar(self) -> bool:
        """A function of the program gives another value to a name that the checker took from its assignment."""
        names = {token.text for token in self.outline.tokens if token.kind == "name"}
        return self.outline.language == "python" and not names.isdisjoint(REBINDING)

    async def _stays(self, finding: Finding) -> bool:
        """Whether it is still found when results may be anything: what services declare of those is often wrong."""
        if self._loose is None:
            self._loose = await self.recheck()
        return any(one.code == finding.code and one.start == finding.start for one in self._loose)

    # -- telling -----------------------------------------------------------------------------------------------------

    def _diagnose(self, finding: Finding, severity: Any, *, tool: str = "", signature: str = "") -> Diagnostic:
        return self._place(finding, severity, tool=tool, signature=signature)

    def _place(
        self, finding: Finding, severity: Any, *, tool: str = "", signature: str = "", hint: str = ""
    ) -> Diagnostic:
        line, column = self.lines.place(finding.start)
        end_line, end_column = self.lines.place(finding.end)
        message = truncate(plain(finding.message))
        return Diagnostic(
            severity, line, column, end_line, end_column, message, finding.code, tool, signature, hint
        )  # fmt: skip


def plain(message: str) -> str:
    """Without the names of our own helpers."""
    message = re.sub(r"Argument to bound method `[^`]*` is incorrect: ", "", message)
    return re.sub(r"\bExecutor(?:\.|Loose(?:Group)?\b)", "", message)
