"""What requests and answers have in common."""

from __future__ import annotations

import json
from typing import Any


class HasBody:
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)
