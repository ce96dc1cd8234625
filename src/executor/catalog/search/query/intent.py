"""What someone wants done, from how it is put: `we don't need X any more`, `there should be an X`, `is X up`.

A verb alone often is not said, or says little (`get`, `make`, `put`, `take`). Each form adds to the wishes it speaks
for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from executor.catalog.search.query import actions

# wish: the actions of tools that would grant it
WISHES: dict[str, int] = {
    "read": actions.READS,
    "make": actions.BITS["create"] | actions.BITS["send"] | actions.BITS["attach"],
    "change": actions.CHANGES | actions.BITS["attach"],
    "drop": actions.BITS["delete"] | actions.BITS["stop"],
}
# How something is put, over the words of the query in small letters without apostrophes; what it speaks for.
_FORMS: tuple[tuple[str, dict[str, float]], ...] = (
    (
        r"^(so |and |hey |ok |please )*(what|which|who|whos|whose|whats|where|wheres|when|whens|why|how|hows"
        r"|is|are|am|was|were|does|do|did|has|have|had|any|anyone|anything|show|list|tell me|find|look|see|view"
        r"|display|read|get|search|check|count|compare|everything|everybody|all|fetch|describe"
        r"|give me (the|a list|all)|can i see|let me (see|read|know)"
        r"|i(d| would)? (want|like|need)? ?to (see|know|read|look|find|check))\b",
        {"read": 1.5},
    ),
    (r"^(can|could|may) (i|we|he|she|they|someone|people|this|that|the)\b", {"read": 0.7, "change": 0.3}),
    (r"^how (do|can|could|would|should) (i|we|you|one)\b", {"read": -1.2}),
    (r"^(what|how|which) (if|about)\b", {"read": -0.5}),
    (r"\b(status|details|info|overview|history|stats|report)\b", {"read": 0.4}),
    (r"\b(any ?more|any longer|no longer|no more|not any|never again)\b", {"drop": 1.5, "change": 0.3, "make": -0.5}),
    (
        r"\b(dont|doesnt|didnt|do not|does not|not|wont|isnt|arent) (really |even )?(need|needs|want|wants|use|using"
        r"|have to|used|needed|like|care|working here)\b",
        {"drop": 1.3, "make": -0.5},
    ),
    (
        r"\b(shouldnt|should not|should never|must not|mustnt|may not|cannot|nobody|no one)\b",
        {"drop": 0.8, "change": 0.5},
    ),
    (r"^(dont|do not|never|stop|quit)\b", {"drop": 1.2, "change": 0.4}),
    (
        r"\b(stop|quit|cease|end|cancel|abort|call off|never mind|nevermind|forget|after all)\b",
        {"drop": 0.9, "change": 0.3},
    ),
    (
        r"\b(get rid|rid of|throw|kick|kill|bin|scrap|wipe|blow|ditch|dump|erase|trash|retire|gone|drop|destroy|tear"
        r"|delete|remove|uninstall|unplug|unsubscribe|revoke|purge|clear|clean|nuke|axe|eject|boot|expel"
        r"|fire|fired|evict|bye)\b",
        {"drop": 1.1},
    ),
    (r"\b(take|took|get|pull|cut|strip)\b( \w+){1,5} (off|out|away|down|back|offline)\b", {"drop": 1.0}),
    (r"\b(take|took) (off|out|away|down|back)\b", {"drop": 1.0}),
    (r"\b(left|leaves|leaving|quit) (the|our|us|my)\b", {"drop": 0.6}),
    (r"\b(leave|exit)\b", {"drop": 0.4, "change": 0.2}),
    (
        r"\b(i|we|they|he|she) (want|need|needs|wants|would like|d like|could use|require)( to have| to get)? (a|an"
        r"|another|some|one|somewhere|something|more|new|my own|someone|our)\b",
        {"make": 1.0, "change": 0.2},
    ),
    (
        r"\b(new|another|one more|extra|additional|from scratch|start|begin|set up|set me up|spin up|fresh)\b",
        {"make": 0.7},
    ),
    (r"^(get|give|make|find|rent|buy|build|bring) me\b", {"make": 0.8, "read": 0.2}),
    (
        r"^(add|create|make|put|open|start|register|write|send|post|share|upload|set up|book|hire|rent|buy|order|file"
        r"|raise|report|propose|invite|sign|give|say|announce|reply|answer|react|remind|nag|nudge|ask|store"
        r"|keep|save|bill|charge)\b",
        {"make": 0.8, "change": 0.2},
    ),
    (r"\b(bought|joined|hired|arrived|going to|started)\b", {"make": 0.5}),
    (r"^(there should be|we should have|let there)\b", {"make": 0.8}),
    (r"^(tell|let|ask|notify|warn|shout|ping|whisper|mail|message)\b", {"make": 0.6}),
    (
        r"\b(change|edit|fix|typo|correct|rename|reword|instead|move|switch|swap|adjust|update|tweak|modify|different"
        r"|upgrade|downgrade|bigger|smaller|larger|faster|increase|decrease|raise|lower|extend|replace|reset|configure"
        r"|customi[sz]e"
        r"|something else|too (small|slow|big|low|high)|moved|wrong|mistake"
        r"|new (name|address|email|password|version|port|ip))\b",
        {"change": 0.9, "drop": -0.1},
    ),
    (r"\b(should|must) (be|cost|point|go|get|have|also|listen|run|show|say)\b", {"change": 0.7, "make": 0.3}),
    (r"\b(has|have|got) a new\b", {"change": 0.8, "read": -0.8}),
    (r"^(let|allow|only|permit|grant|everyone|nobody|everybody)\b", {"change": 0.5, "make": 0.5}),
    (r"^make (it|the|my|this|that|our|him|her|sure)\b", {"change": 0.7, "make": -0.3}),
    (
        r"^(turn|switch|power|shut|enable|disable|pause|resume|lock|unlock|archive|approve|accept|merge|close|reopen|mark)\b",
        {"change": 1.1},
    ),
    (r"\b(turn|switch|shut)\b.* off\b", {"change": 0.8, "drop": 0.3}),
    (r"\b(again|back|over|retry|redo|rerun|restart|reboot)\b", {"change": 0.4}),
    (r"\b(run|scale|resize|grow|shrink|rotate|promote|roll)\b", {"change": 0.5}),
    (r"\b(said yes|said no|is fine|go ahead|agreed|give up|give in|official)\b", {"change": 0.8}),
)
_COMPILED = tuple((re.compile(form), speaks_for) for form, speaks_for in _FORMS)
BY_VERB = 1.2


def wishes(said: Sequence[str], by_verb: int) -> Mapping[str, float]:
    """How much of what was said is each wish, from 0 to 1; `by_verb`: the actions of the first verb."""
    text = " ".join(said)
    found = dict.fromkeys(WISHES, 0.0)
    for form, speaks_for in _COMPILED:
        if form.search(text):
            for wish, much in speaks_for.items():
                found[wish] += much
    if by_verb:
        granting = [wish for wish, bits in WISHES.items() if bits & by_verb]
        for wish in granting:
            found[wish] += BY_VERB / len(granting)
    found = {wish: max(0.0, much) for wish, much in found.items()}
    total = sum(found.values())
    return {wish: much / max(total, 1.0) for wish, much in found.items()}
