"""Configurations: what is wrong in one, what applying it changes, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired

from typing_extensions import TypedDict

from executor.execution.configuration.document import Problem
from executor.execution.configuration.plan import Action, Change, Plan
from executor.model.declaration import Noun

if TYPE_CHECKING:
    from executor.execution.configuration.application import Applied


class ConfigurationProblem(TypedDict):
    """`place` is the file or variable, the entry and the key."""

    place: str
    message: str
    hint: str


class ConfigurationChange(TypedDict):
    """`error` only after it was tried: null if it was done, or if there was nothing to do."""

    noun: Noun
    name: str
    action: Action
    place: str
    details: list[str]
    error: NotRequired[str | None]
    hint: NotRequired[str | None]


class ConfigurationPlan(TypedDict):
    changes: list[ConfigurationChange]
    problems: list[ConfigurationProblem]
    digest: str


class ConfigurationOutcome(TypedDict):
    changes: list[ConfigurationChange]
    problems: list[ConfigurationProblem]


def plan_view(plan: Plan) -> ConfigurationPlan:
    return {
        "changes": [change_view(one) for one in plan.changes],
        "problems": [problem_view(one) for one in plan.problems],
        "digest": plan.digest,
    }


def outcome_view(applied: Applied) -> ConfigurationOutcome:
    return {
        "changes": [
            {**change_view(one.change), "error": one.error or None, "hint": one.hint or None}
            for one in applied.outcomes
        ],
        "problems": [problem_view(one) for one in applied.problems],
    }


def change_view(change: Change) -> ConfigurationChange:
    return {
        "noun": change.noun,
        "name": change.name,
        "action": change.action,
        "place": change.place,
        "details": list(change.details),
    }


def problem_view(problem: Problem) -> ConfigurationProblem:
    return {"place": problem.place, "message": problem.message, "hint": problem.hint}
