"""`ObjectCache`: what was worked out of an object is not taken for that of another one."""

from __future__ import annotations

from executor.storage.object_cache import KEPT, ObjectCache


def test_what_was_worked_out_is_found_by_the_same_objects_alone() -> None:
    cache, one, equal = ObjectCache[str](), ["a"], ["a"]
    cache.put("found", "actor", one, None)
    assert cache.get("actor", one, None) == "found"
    assert cache.get("actor", equal, None) is None
    assert cache.get("another", one, None) is None
    assert cache.get("actor", one) is None


def test_an_object_that_only_the_cache_knows_is_never_mistaken_for_a_newer_one() -> None:
    """A freed object's place in memory, which is its identity, is given to the next one."""
    cache = ObjectCache[int]()
    for number in range(200):
        made = [number]
        assert cache.get("", made) is None
        cache.put(number, "", made)


def test_it_is_bounded() -> None:
    cache, kept = ObjectCache[int](), [[number] for number in range(2 * KEPT)]
    for one in kept:
        cache.put(one[0], "", one)
    assert sum(cache.get("", one) is not None for one in kept) <= KEPT
