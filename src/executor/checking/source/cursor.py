"""What is at a place in unfinished code: a path of tools, a field of a call's arguments, or a value of one."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from executor.checking.diagnostics import ROOT
from executor.checking.source.lexer import OPENING, Language, Token, tokens
from executor.checking.source.tool_calls import Outline, string_value
from executor.dataclass import dataclass

LOOKED_AT = 100_000  # characters before the place


@dataclass(frozen=True, slots=True)
class Cursor:
    """`typed` is what of it is there already, from `start` on.

    `path`: the tools below `prefix`. `field`, `value`: of the object at `keys` of the arguments of the tool `prefix`,
    which has the fields `given`; a value may already be in quotes. `other`: nothing that the catalog knows of.
    """

    kind: Literal["path", "field", "value", "other"]
    prefix: str = ""
    typed: str = ""
    start: int = 0
    keys: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()
    quoted: bool = False
    keyword: bool = False


def cursor(code: str, offset: int, language: Language) -> Cursor:
    skipped = max(0, offset - LOOKED_AT)
    before = tokens(code[skipped:offset], language)
    found = _Reading(before, code[skipped:offset], language).cursor()
    return replace(found, start=found.start + skipped)


class _Reading:
    def __init__(self, before: list[Token], code: str, language: Language) -> None:
        self._tokens, self._code, self._language = before, code, language
        self._outline = Outline(code, language)
        self._open = self._find_unclosed()

    def cursor(self) -> Cursor:
        last = self._tokens[-1] if self._tokens else None
        end = len(self._code)
        touches = last is not None and last.end == end
        if last is not None and touches and last.kind == "string":
            return self._in_string(last) if _is_unclosed(last.text) else Cursor("other", start=end)
        typed = last.text if last is not None and touches and last.kind == "name" else ""
        rest = self._tokens[:-1] if typed else self._tokens
        return self._path(rest, typed, end - len(typed)) or self._argument(rest, typed, end - len(typed), quoted=False)

    def _path(self, rest: list[Token], typed: str, start: int) -> Cursor | None:
        if not rest or rest[-1].text not in (".", "?."):
            return None
        outline = Outline(self._code[: rest[-1].start], self._language)
        chain = next((one for one in reversed(outline.chains) if one.last == len(outline.tokens) - 1), None)
        return None if chain is None else Cursor("path", outline.path(chain), typed, start)

    def _in_string(self, last: Token) -> Cursor:
        """`tools["gi`, or a value in quotes."""
        start, typed = last.start + 1, last.text[1:]
        rest = self._tokens[:-1]
        if rest and rest[-1].text == "[":
            chain = next((one for one in self._outline.chains if one.last == len(rest) - 2), None)
            if chain is not None:
                return Cursor("path", self._outline.path(chain), typed, start, quoted=True)
        return self._argument(rest, typed, start, quoted=True)

    def _argument(self, rest: list[Token], typed: str, start: int, *, quoted: bool) -> Cursor:
        found = self._enclosing()
        if found is None:
            is_root = bool(typed) and ROOT.startswith(typed) and not quoted
            return Cursor("path", "", typed, start, keyword=True) if is_root else Cursor("other", "", typed, start)
        prefix, keys, innermost = found
        before = rest[-1] if rest else None
        inside = self._tokens[innermost + 1 : len(rest)]
        bracket = self._tokens[innermost].text
        if before is None or before is self._tokens[innermost] or before.text == ",":
            is_field = bracket == "{" or (bracket == "(" and self._language == "python")
            if (
                not is_field
                or (quoted and bracket == "(")
                or (bracket == "{" and self._language == "python" and not quoted)
            ):
                return Cursor("other", "", typed, start)
            names = frozenset(self._names(inside))
            return Cursor("field", prefix, typed, start, keys, names, quoted, keyword=bracket == "(")
        name = self._name_before(rest, "=" if bracket == "(" else ":")
        if name is None:
            return Cursor("other", "", typed, start)
        return Cursor("value", prefix, typed, start, (*keys, name), quoted=quoted)

    def _enclosing(self) -> tuple[str, tuple[str, ...], int] | None:
        """The tool whose arguments are open, the names on the way to the innermost object, and where that begins."""
        keys: list[str] = []
        for depth in range(len(self._open) - 1, -1, -1):
            index = self._open[depth]
            if self._tokens[index].text == "(":
                chain = next((one for one in self._outline.chains if one.opening == index), None)
                is_tool = chain is not None and (self._language == "python" or depth < len(self._open) - 1)
                if chain is None or not is_tool:
                    return None
                return self._outline.path(chain), tuple(reversed(keys)), self._open[-1]
            if depth and self._tokens[self._open[depth - 1]].text != "(":
                name = self._name_before(self._tokens[:index], ":")
                keys.append(name if name is not None else "*")
        return None

    def _name_before(self, rest: list[Token], mark: str) -> str | None:
        if len(rest) < 2 or rest[-1].text != mark:
            return None
        return self._name(rest[-2])

    def _names(self, inside: list[Token]) -> list[str]:
        depth, found = 0, []
        for index, token in enumerate(inside):
            if token.kind == "mark" and token.text in OPENING:
                depth += 1
            elif token.kind == "mark" and token.text in (")", "]", "}"):
                depth -= 1
            elif depth == 0 and index + 1 < len(inside) and inside[index + 1].text in (":", "="):
                name = self._name(token)
                found += [name] if name is not None else []
        return found

    def _name(self, token: Token) -> str | None:
        if token.kind == "string":
            return string_value(token.text, self._language)
        return token.text if token.kind == "name" else None

    def _find_unclosed(self) -> list[int]:
        stack: list[int] = []
        for index, token in enumerate(self._tokens):
            if token.kind == "mark" and token.text in OPENING:
                stack.append(index)
            elif token.kind == "mark" and token.text in (")", "]", "}") and stack:
                stack.pop()
        return stack


def _is_unclosed(text: str) -> bool:
    return len(text) == 1 or text[-1] != text[0] or text.endswith("\\" + text[0])
