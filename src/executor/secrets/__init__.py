"""Values that nothing outside may see: where they are kept, and how they are kept out of everything else."""

from __future__ import annotations
