"""The languages that code is submitted in."""

from __future__ import annotations

from typing import Literal

Language = Literal["typescript", "python"]
