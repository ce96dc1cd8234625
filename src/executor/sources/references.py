"""References between schemas, for the kinds of sources."""

from __future__ import annotations

from executor.model.references import PREFIX, names_in

__all__ = ["PREFIX", "names_in"]
