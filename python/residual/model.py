from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy

from . import _residual
from ._residual import Error
from .hub import resolve

if TYPE_CHECKING:
    import torch

_NUMPY = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "I16": "<i2",
    "U16": "<u2",
    "F16": "<f2",
    "I32": "<i4",
    "U32": "<u4",
    "F32": "<f4",
    "I64": "<i8",
    "U64": "<u8",
    "F64": "<f8",
}


class Model(Mapping[str, numpy.ndarray]):
    """The parameters of a model by name, as arrays over its file: nothing is copied or read ahead.

    Opening compares the file's checksum. Arrays may be written to: the changed pages are this
    process's own, and the file stays as it is. docs/formats.md names the forms that exported
    models have (.panels, .scale).
    """

    def __init__(self, model: str | os.PathLike[str]):
        self._bound = _residual.Model(resolve(model))
        self._places = self._bound.places
        with open(self._bound.weights_file, "rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)

    @property
    def path(self) -> str:
        return self._bound.path

    @property
    def config(self) -> dict[str, Any]:
        """What config.toml says."""
        return json.loads(self._bound.description)

    def _place(self, name: str):
        try:
            return self._places[name]
        except KeyError:
            raise KeyError(f"{self.path}: has no parameter {name}") from None

    def __getitem__(self, name: str) -> numpy.ndarray:
        place = self._place(name)
        if place.dtype not in _NUMPY:
            raise Error(f"{name}: NumPy has no {place.dtype}; tensor() gives a tensor of PyTorch")
        return numpy.frombuffer(
            self._bytes, _NUMPY[place.dtype], prod(place.shape), place.begin
        ).reshape(place.shape)

    def tensor(self, name: str) -> torch.Tensor:
        """A parameter as PyTorch's tensor over the same bytes."""
        import torch

        place = self._place(name)
        if place.dtype == "BF16":
            bits = numpy.frombuffer(self._bytes, "<i2", prod(place.shape), place.begin)
            return torch.from_numpy(bits.reshape(place.shape)).view(torch.bfloat16)
        return torch.from_numpy(self[name])

    def tensors(self) -> dict[str, torch.Tensor]:
        """All parameters, as load_state_dict() takes them."""
        return {name: self.tensor(name) for name in self}

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"Model({self.path!r}, {len(self)} parameters)"
