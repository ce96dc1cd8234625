"""Changed tools that wait for a review, as they are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from executor.model.source import ReviewMode, Source
from executor.model.tool import Effect
from executor.surfaces.views.base import SchemaDifference, time

if TYPE_CHECKING:
    from executor.policy.visibility import Visibility
    from executor.sources.lifecycle.acceptance import PendingReviews


class DescriptionChange(TypedDict):
    was: str | None
    now: str | None


class ReviewView(TypedDict):
    """`path` has the server's own name of the tool. Calls are `refused` until someone accepts the change; if only the
    words about the tool are others, it is called as before. `digest` names exactly what you would accept."""

    path: str
    digest: str
    refused: bool
    since: str
    effect: Effect
    description: DescriptionChange
    differences: list[SchemaDifference]
    cut: bool


class ReviewsView(TypedDict):
    """`mode` says which changes wait: those of tools that write, of all, or none; `own` is null where the source has no
    setting of its own."""

    mode: ReviewMode
    own: ReviewMode | None
    total: int
    items: list[ReviewView]
    next: str | None


def reviews_view(
    source: Source, mode: ReviewMode, pending: PendingReviews, visibility: Visibility | None
) -> ReviewsView:
    shown = [one for one in pending.items if visibility is None or not visibility.hides(one["path"], one["effect"])]
    items: list[ReviewView] = [{**one, "since": time(one["since"])} for one in shown]  # type: ignore[typeddict-item]
    own = source.known_keys.get("review")
    return {
        "mode": mode,
        "own": own,  # type: ignore[typeddict-item]  # written by an edit, which takes nothing else
        "total": pending.total,
        "items": items,
        "next": pending.next,
    }
