from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from ._residual import Error


@dataclass(frozen=True)
class Figure:
    """A figure of a report: curves over x, or a matrix. Missing values are NaN."""

    id: str
    title: str
    x_label: str
    y_label: str
    note: str
    x: numpy.ndarray | None
    series: dict[str, numpy.ndarray]
    matrix: numpy.ndarray | None


@dataclass(frozen=True)
class Report:
    """What `residual probe` measured."""

    title: str
    facts: dict[str, str]
    figures: dict[str, Figure]  # by name: "encoder-gradients"
    tables: list[dict[str, Any]]


def _numbers(rows) -> numpy.ndarray:
    return numpy.array(rows, dtype=float)  # None becomes NaN


def _figure(found: dict[str, Any]) -> Figure:
    x, series = None, {}
    if found.get("rows"):
        columns = _numbers(found["rows"]).T
        x = columns[0]
        series = {each["name"]: column for each, column in zip(found["series"], columns[1:])}
    matrix = _numbers(found["matrix"]) if "matrix" in found else None
    return Figure(
        found["id"],
        found["title"],
        found["x_label"],
        found["y_label"],
        found["note"],
        x,
        series,
        matrix,
    )


def _arguments(options: Mapping[str, Any]) -> list[str]:
    words = []
    for key, value in options.items():
        flag = "--" + key.rstrip("_").replace("_", "-")
        if isinstance(value, Mapping):
            for inner, setting in value.items():
                setting = str(setting).lower() if isinstance(setting, bool) else setting
                words += [flag, f"{inner}={setting}"]
        elif isinstance(value, bool):
            words += [flag] if value else []
        elif value is not None:
            many = isinstance(value, (list, tuple))
            words += [flag, ",".join(map(str, value)) if many else str(value)]
    return words


def probe(
    *models: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    program: str | os.PathLike[str] = "residual",
    **options: Any,
) -> Report:
    """Measures gradients, representations and attention block by block.

    Runs the program `residual probe`, which must be installed with its LibTorch part, and reads
    its report. Options are its flags, with `_` for `-`: compare=["post-ln", "resi-dual"],
    layers=18, tokens=512, data="prepared/en-de", set={"model.width": 256}, from_="en". With
    `output`, the whole report stays in that directory.
    """
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary if output is None else output)
        formats = {"format": "json"} if output is None else {"format": options.pop("format", None)}
        command = [
            program,
            "-q",
            "probe",
            *models,
            *_arguments({**options, **formats}),
            "--output",
            directory,
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            raise Error(
                f"{os.fspath(program)}: not found; install the command residual, or name "
                "it with program="
            ) from None
        if done.returncode != 0:
            text = done.stderr.strip()
            raise Error(text.removeprefix("residual: ").removeprefix("error: "))
        try:
            found = json.loads((directory / "report.json").read_text())
        except FileNotFoundError:
            raise Error(f"format: {formats['format']} has no json, which is read here") from None
    figures = {each["id"]: _figure(each) for each in found["figures"]}
    return Report(found["title"], found["facts"], figures, found["tables"])
