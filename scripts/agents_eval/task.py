"""A task: what a user asks for, how the agent goes about it, and whether it was done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agents_eval.agent import Agent, Language
from agents_eval.service import Service
from agents_eval.upstream import World

Work = Callable[[Agent, World], bool]


@dataclass(frozen=True)
class Task:
    """`work` says whether the world is as the user wished and the answer right."""

    name: str
    request: str
    language: Language
    services: tuple[type[Service], ...]
    work: Work


class Tasks(list[Task]):
    def __init__(self, language: Language, letter: str) -> None:
        self.language: Language = language
        self.letter = letter

    def add(self, request: str, *services: type[Service]) -> Callable[[Work], Work]:
        def mark(work: Work) -> Work:
            self.append(Task(f"{self.letter}{len(self) + 1}", request, self.language, services, work))
            return work

        return mark
