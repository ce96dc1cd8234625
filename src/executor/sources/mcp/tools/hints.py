"""What a server says of its own tools. It is a claim: only a person can decide to trust it."""

from __future__ import annotations

from executor.model.known_keys import KnownBinding


def claims_to_read(binding: KnownBinding) -> bool:
    """A server that contradicts itself claims nothing."""
    annotations = binding.get("annotations") or {}
    return annotations.get("readOnlyHint") is True and annotations.get("destructiveHint") is not True
