"""Bulk translation: a large file in parts, on any number of processes or machines.

A Job cuts a file of lines into parts. run() translates one part into a file of its own in the
output directory, which all processes share; parts that are there already are kept. So a job that
was interrupted goes on where it stopped, in as many processes as one likes, and the parts in order
are the bytes that one process would have written. examples/spark and examples/ray run jobs there.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from . import _residual
from ._residual import Error
from .translator import Translator, as_json

_BOM = b"\xef\xbb\xbf"


class Part(NamedTuple):
    number: int
    begin: int  # bytes of the input
    end: int


@dataclass(frozen=True)
class Job:
    """`settings` are a Translator's; they and the input may not change while the output grows."""

    model: str
    input: str
    output: str
    lines: int = 2000  # of a part
    settings: dict[str, Any] = field(default_factory=dict)

    def parts(self) -> list[Part]:
        """The parts, after noting in the output what they are parts of."""
        if self.lines < 1:
            raise Error(f"lines: must be at least 1, is {self.lines}")
        found = list(self._cut())
        Path(self.output).mkdir(parents=True, exist_ok=True)
        made = json.dumps(
            {
                "model": os.path.abspath(self.model),
                "input": os.path.abspath(self.input),
                "bytes": os.path.getsize(self.input),
                "lines": self.lines,
                "settings": json.loads(as_json(self.settings)),
                "residual": _residual.commit(),
            },
            indent=1,
        )
        note = Path(self.output) / "job.json"
        if note.exists() and note.read_text() != made:
            raise Error(
                f"{note}: the parts here are of another job; give another output, or what "
                "the file says"
            )
        _write(note, made.encode())
        return found

    def path(self, part: Part) -> Path:
        return Path(self.output) / f"part-{part.number:06}"

    def run(self, part: Part) -> int:
        """Translates a part unless it is there; returns the number of lines translated."""
        if self.path(part).exists():
            return 0
        with open(self.input, "rb") as file:
            file.seek(part.begin)
            text = file.read(part.end - part.begin)
        if part.begin == 0:
            text = text.removeprefix(_BOM)
        try:
            lines = text.removesuffix(b"\n").decode().split("\n")
        except UnicodeDecodeError as error:
            place = part.end - len(text) + error.start + 1
            raise Error(f"{self.input}: byte {place} is not valid UTF-8") from None
        translations = _translator(self.model, as_json(self.settings)).translate(lines)
        _write(self.path(part), "".join(f"{t.text}\n" for t in translations).encode())
        return len(lines)

    def _cut(self) -> Iterator[Part]:
        number = begin = end = count = 0
        with open(self.input, "rb") as file:
            for line in file:
                end, count = end + len(line), count + 1
                if count == self.lines:
                    yield Part(number, begin, end)
                    number, begin, count = number + 1, end, 0
        if end > begin:
            yield Part(number, begin, end)


@functools.lru_cache(maxsize=1)
def _translator(model: str, settings: str) -> Translator:
    """The one of this process."""
    return Translator(model, **json.loads(settings))


def _write(path: Path, content: bytes) -> None:
    """The file appears whole or not at all, also if two processes write the same."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
