from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _residual
from ._residual import Score
from .translator import as_json


def score(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
    metric: str = "bleu",
    *,
    sentence_level: bool = False,
    confidence: int = 0,
    **options: Any,
) -> Any:
    """BLEU ("bleu"), chrF ("chrf", "chrf++") or TER ("ter") with sacreBLEU's numbers.

    `references` is one list as long as the hypotheses, or a list of such lists. Options have
    sacreBLEU's names: tokenize, lowercase, smooth_method, char_order ... Returns a Score; with
    sentence_level, a list of one for each line. `confidence` is a number of bootstrap samples.
    """
    if isinstance(hypotheses, str) or isinstance(references, str):
        raise TypeError("score: expected lists of lines, got a string")
    many = [references] if not references or isinstance(references[0], str) else references
    scores: list[Score] = _residual.score(
        list(hypotheses),
        [list(each) for each in many],
        metric,
        sentence_level,
        confidence,
        as_json(options),
    )
    return scores if sentence_level else scores[0]
