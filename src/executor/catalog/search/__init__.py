"""Search by intent over everything a tool says of itself. See docs/discovery.md for how a result comes about.

Only `entry` may be imported when the daemon starts: the rest needs numpy, which is loaded by the first search.
"""
