"""Moses' tokeniser and detokeniser, and subword-nmt's BPE: line for line the same, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from . import _residual

Lines = TypeVar("Lines", str, list[str])


def _each(lines, function: Callable[[list[str]], list[str]]):
    if isinstance(lines, str):
        return function([lines])[0]
    return function(list(lines))


def tokenize(
    lines: Lines, language: str = "en", *, aggressive: bool = False, escape: bool = True
) -> Lines:
    """Splits words from punctuation, as Moses' tokenizer.perl does."""
    return _each(lines, lambda all: _residual.tokenize(all, language, aggressive, escape))


def detokenize(lines: Lines, language: str = "en") -> Lines:
    """Joins tokens to running text, as Moses' detokenizer.perl does."""
    return _each(lines, lambda all: _residual.detokenize(all, language))


class Bpe:
    """BPE merges, applied as subword-nmt applies them. `codes` is a file, or its text.

    Calling it splits the words of lines into pieces. With `vocabulary`, a file of lines "piece
    count", pieces that are rarer than `vocabulary_threshold` are split further.
    """

    def __init__(
        self,
        codes: str | os.PathLike[str],
        *,
        separator: str = "@@",
        merges: int = -1,
        vocabulary: str | os.PathLike[str] | None = None,
        vocabulary_threshold: int = 0,
        glossaries: Sequence[str] = (),
        dropout: float = 0,
        seed: int = 1,
    ):
        text, name = os.fspath(codes), "codes"
        if not isinstance(codes, str) or (codes and "\n" not in codes):
            try:
                text, name = Path(codes).read_text(encoding="utf-8"), os.fspath(codes)
            except OSError as error:
                raise _residual.Error(f"{os.fspath(codes)}: {error.strerror}") from None
        self.separator = separator
        self._bound = _residual.Bpe(
            text,
            name,
            separator,
            merges,
            None if vocabulary is None else os.fspath(vocabulary),
            vocabulary_threshold,
            list(glossaries),
            dropout,
            seed,
        )

    def __call__(self, lines: Lines) -> Lines:
        return _each(lines, self._bound.apply)

    def __len__(self) -> int:
        return len(self._bound)

    def undo(self, lines: Lines) -> Lines:
        return undo_bpe(lines, self.separator)


def bpe(lines: Lines, codes: str | os.PathLike[str], **options) -> Lines:
    """Splits words into pieces once; a Bpe keeps its codes for more calls."""
    return Bpe(codes, **options)(lines)


def learn_bpe(
    lines: Iterable[str],
    merges: int = 10000,
    *,
    min_frequency: int = 2,
    total_symbols: bool = False,
) -> str:
    """Learns merges from lines of words, as subword-nmt does; returns the text of a codes file."""
    if merges < 0 or min_frequency < 1:
        raise _residual.Error("merges must be at least 0, min_frequency at least 1")
    return _residual.learn_bpe(list(lines), merges, min_frequency, total_symbols)


def undo_bpe(lines: Lines, separator: str = "@@") -> Lines:
    """Joins pieces to words."""
    return _each(lines, lambda all: _residual.undo_bpe(all, separator))
