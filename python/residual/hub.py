"""Models by path, or by name in Hugging Face's cache on this machine. Nothing is downloaded."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from . import _residual
from ._residual import Error


def _cache_home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _hub_cache() -> Path:
    if given := os.environ.get("HF_HUB_CACHE"):
        return Path(given)
    return Path(os.environ.get("HF_HOME") or _cache_home() / "huggingface") / "hub"


def _snapshot(name: str, revision: str) -> Path:
    folder = _hub_cache() / ("models--" + name.replace("/", "--"))
    if not folder.is_dir():
        raise Error(
            f"{name}: no such file, and not in Hugging Face's cache {folder.parent}; "
            f"`hf download {name}` puts it there"
        )
    reference = folder / "refs" / revision
    commit = reference.read_text().strip() if reference.is_file() else revision
    snapshot = folder / "snapshots" / commit
    if not snapshot.is_dir():
        raise Error(f'{name}: the cache {folder} has no revision "{revision}"')
    return snapshot


def _converted(directory: Path) -> str:
    """The model directory made of a Hugging Face directory: once for each state of its files."""
    state = hashlib.sha256(f"{_residual.version()} {_residual.commit()}".encode())
    for file in sorted(directory.iterdir()):
        found = file.resolve().stat()
        state.update(
            f"\0{file.name}\0{file.resolve()}\0{found.st_size}\0{found.st_mtime_ns}".encode()
        )
    models = Path(os.environ.get("RESIDUAL_CACHE") or _cache_home() / "residual") / "models"
    output = models / state.hexdigest()[:32]
    if not output.is_dir():
        models.mkdir(parents=True, exist_ok=True)
        _residual.import_marian(os.fspath(directory), os.fspath(output))
    return os.fspath(output)


def resolve(model: str | os.PathLike[str], revision: str = "main") -> str:
    """The path of a model for the compiled part.

    A path stays as it is. A name such as "Helsinki-NLP/opus-mt-en-de" is looked for in Hugging
    Face's cache. MarianMT models are converted once, into $RESIDUAL_CACHE (by default
    ~/.cache/residual).
    """
    name = os.fspath(model)
    path = Path(name)
    if not path.exists() and re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        path = _snapshot(name, revision)
    if (path / "config.json").is_file() and not (path / "config.toml").is_file():
        return _converted(path)
    return os.fspath(path)
