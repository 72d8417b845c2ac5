from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from . import _residual
from ._residual import Error, ScoredLine, Translation
from .hub import resolve

if TYPE_CHECKING:
    from typing import Unpack

    from ._settings import CallSettings, TranslatorSettings

Terms = Mapping[str, str]


def settings() -> dict[str, Any]:
    """Every setting of a Translator: type, default, range and meaning, as a JSON schema."""
    return json.loads(_residual.settings_schema())


def as_json(options: Mapping[str, Any]) -> str:
    """Options as the compiled part reads them."""

    def plain(value: Any) -> Any:
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if hasattr(value, "item"):  # a number of NumPy or PyTorch
            return value.item()
        raise Error(f"a setting cannot be of the type {type(value).__name__}: {value!r}")

    return json.dumps(options, default=plain)


class Translator:
    """A model, or several that decide together, and threads that translate.

    `model` is a model directory, a bundle, a run, or a model in Hugging Face's local cache, by its
    name ("Helsinki-NLP/opus-mt-en-de"). Settings are those of `residual translate`, by the names
    of settings(). `terms` maps expressions to their translations, or is a file of them.

    Several threads may use one Translator: their lines share batches. A copy in another process
    (pickle, copy.copy) opens the model again.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        terms: Terms | str | os.PathLike[str] | None = None,
        **settings: Unpack[TranslatorSettings],
    ):
        many = [model] if isinstance(model, (str, os.PathLike)) else list(model)
        self._arguments = (many, terms, dict(settings))
        self._terms = dict(terms) if isinstance(terms, Mapping) else None
        given: dict[str, Any] = dict(settings)
        if terms is not None and self._terms is None:
            given["terms"] = os.fspath(terms)  # type: ignore[arg-type]
        self._bound = _residual.Translator([resolve(each) for each in many], as_json(given))

    def __reduce__(self):
        return _open, self._arguments

    def __repr__(self) -> str:
        models, _, given = self._arguments
        words = "".join(f", {key}={value!r}" for key, value in given.items())
        return f"Translator({models[0] if len(models) == 1 else models!r}{words})"

    @property
    def directions(self) -> list[tuple[str, str]]:
        """The (source, target) languages between which the model translates."""
        return self._bound.directions

    @overload
    def translate(
        self,
        lines: str,
        *,
        prefix: str | None = ...,
        phrases: Sequence[str] | None = ...,
        terms: Terms | None = ...,
        **settings: Unpack[CallSettings],
    ) -> Translation: ...
    @overload
    def translate(
        self,
        lines: Iterable[str],
        *,
        prefix: Sequence[str] | None = ...,
        phrases: Sequence[Sequence[str]] | None = ...,
        terms: Terms | None = ...,
        **settings: Unpack[CallSettings],
    ) -> list[Translation]: ...

    def translate(self, lines, *, prefix=None, phrases=None, terms=None, **settings):
        """Translates lines, without the GIL. A single string gives a single Translation.

        `prefix` is what each line's translation begins with, and `phrases` what it contains, one
        entry for each line. `terms` replaces the translator's. Settings hold for this call; other
        calls share its batches. A translation depends on its line and settings alone.
        """
        if isinstance(lines, str):
            lines, is_one = [lines], True
            prefix = None if prefix is None else [prefix]
            phrases = None if phrases is None else [list(phrases)]
        else:
            lines, is_one = list(lines), False
        for name, given in (("prefix", prefix), ("phrases", phrases)):
            if given is not None and (isinstance(given, str) or len(given) != len(lines)):
                raise Error(f"{name}: expected one entry for each of the {len(lines)} lines")
        for i, line in enumerate(lines):
            if not isinstance(line, str):
                raise TypeError(f"lines[{i}]: expected a string, got {type(line).__name__}")
            if "\n" in line and settings.get("markup", self._markup) != "html":
                raise Error(f"lines[{i}] contains a line break; pass each line separately")
        own = self._terms if terms is None else terms
        found = self._bound.translate(
            lines,
            list(prefix or []),
            [list(each) for each in phrases or []],
            None if own is None else list(own.items()),
            as_json(settings),
        )
        return found[0] if is_one else found

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[ScoredLine]:
        """The probability of each target, given its source."""
        if len(sources) != len(targets):
            raise Error(f"{len(sources)} sources, but {len(targets)} targets")
        return self._bound.score(list(sources), list(targets))

    @property
    def _markup(self) -> str:
        return self._arguments[2].get("markup", "none")


def _open(model, terms, settings) -> Translator:
    return Translator(model, terms=terms, **settings)
