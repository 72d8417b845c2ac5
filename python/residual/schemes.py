from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import _residual


@dataclass(frozen=True)
class Scheme:
    """What `residual schemes` prints of a scheme, and the schema of its options."""

    name: str
    paper: str
    variants: list[str]
    equations: list[str]
    parameters: str
    options: dict[str, Any]


def schemes() -> list[Scheme]:
    """The residual schemes, in the order of the registry."""
    return [Scheme(**each) for each in json.loads(_residual.schemes())]
