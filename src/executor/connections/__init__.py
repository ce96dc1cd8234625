"""Credentials wired to sources: which one a call needs, whose it is, and where each part of it goes."""

from __future__ import annotations
