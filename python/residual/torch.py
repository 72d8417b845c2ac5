"""Residual schemes for PyTorch: each scheme of the registry as a module around your own blocks.

    from residual.torch import ResiDual
    stack = ResiDual([attention, feed_forward, attention, feed_forward], width=512)
    y = stack(x, mask=mask)     # x [..., width]; what follows x goes to each block

A block is f_k of the papers: attention or feed-forward with its dropout, without residual and norm.
The scheme owns the rest, by the same C++ text that trains and decodes here: it is run once on
PyTorch's operations and recorded. What remains is Python that only calls PyTorch (`stack.code`), for
any device and type, autograd, torch.compile and torch.export. Parameters have the names that they
have in model files below "encoder.residual.".
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx
from torch import nn
from torch.nn import functional

from . import _residual
from .schemes import schemes
from .translator import as_json


def _call(block: Callable[..., torch.Tensor], x: torch.Tensor, args, kwargs) -> torch.Tensor:
    return block(x, *args, **kwargs)


class _Operations:
    """What schemes may compute with; `find` gives a parameter or buffer by its name."""

    def __init__(self, width: int, declare: Callable[[str, list[float]], Any]):
        self._width = width
        self._declare = declare
        self._constants = 0

    # Parameters are vectors; a norm is two of them and its epsilon.
    def declare_norm(self, name: str, epsilon: float):
        return (
            self._declare(f"{name}.weight", [1.0] * self._width),
            self._declare(f"{name}.bias", [0.0] * self._width),
            epsilon,
        )

    def declare_vectors(self, name: str, count: int | None, value: float):
        if count is None:
            return self._declare(name, [value] * self._width)
        return self._declare(name, [value] * (count * self._width)).view(count, self._width)

    def declare_numbers(self, name: str, count: int | None, value: float):
        return self._declare(name, [value] * (count or 1))

    def norm(self, norm, x):
        weight, bias, epsilon = norm
        return functional.layer_norm(x, (self._width,), weight, bias, epsilon)

    def add(self, x, f):
        return x + f

    def add_scaled(self, x, c, f):
        return x + f if c == 1 else torch.add(x, f, alpha=c)

    def scale(self, c, x):
        return x if isinstance(c, float) and c == 1 else c * x

    # Gates: numbers [..., m] for rows [..., width], or [m] where all rows have the same.
    def dots(self, vectors, x):
        return functional.linear(x, vectors)

    def constant(self, numbers, start):
        self._constants += 1
        return numbers + self._declare(f"start.{self._constants}", tuple(start))

    def over_rms(self, gates, streams, epsilon):
        squares = _total([x.square().mean(-1, keepdim=True) for x in streams])
        return gates * torch.rsqrt(squares / len(streams) + epsilon)

    def columns(self, gates, first, count):
        return gates.narrow(-1, first, count)

    def join(self, parts):
        return torch.cat(parts, -1)

    def tanh(self, gates):
        return torch.tanh(gates)

    def sigmoid(self, gates, c):
        return c * torch.sigmoid(gates)

    def softmax(self, gates):
        return torch.softmax(gates, -1)

    def sinkhorn(self, gates, iterations):
        if isinstance(gates, torch.fx.Proxy):  # its size is not known yet
            return gates.tracer.create_proxy("call_function", _sinkhorn, (gates, iterations), {})
        return _sinkhorn(gates, iterations)

    def add_gated(self, x, gates, column, f):
        return x + gates.narrow(-1, column, 1) * f

    def mix(self, gates, first, stride, streams):
        return _total([gates.narrow(-1, first + t * stride, 1) * x for t, x in enumerate(streams)])

    # For calibrate() only.
    def variance(self, x) -> float:
        return x.var(unbiased=False).item()

    def assign(self, vector, c):
        with torch.no_grad():
            vector.fill_(c)


def _total(values: list):
    return functools.reduce(operator.add, values)


def _sinkhorn(gates: torch.Tensor, iterations: int) -> torch.Tensor:
    n = math.isqrt(gates.shape[-1])
    logs = gates.unflatten(-1, (n, n))
    for _ in range(iterations):
        logs = logs - logs.logsumexp(-2, keepdim=True)
        logs = logs - logs.logsumexp(-1, keepdim=True)
    return logs.exp().flatten(-2)


class Stack(nn.Module):
    """Blocks under a residual scheme.

    `blocks` are modules, from the bottom to the top; one layer has `blocks_per_layer` of them
    (attention and feed-forward: 2; a decoder with cross-attention: 3). `side` and `other_layers`
    enter the constants of some schemes: set them for an encoder and a decoder, or leave
    other_layers=0 for a stack that stands alone. Further options are the scheme's own, such as
    `eta` or `variant`; residual.schemes() lists them.
    """

    def __init__(
        self,
        scheme: str,
        blocks: Sequence[nn.Module],
        width: int,
        *,
        blocks_per_layer: int = 2,
        side: str = "encoder",
        other_layers: int = 0,
        **options: Any,
    ):
        super().__init__()
        layers, rest = divmod(len(blocks), blocks_per_layer)
        if rest or not blocks:
            raise _residual.Error(
                f"{len(blocks)} blocks are not layers of {blocks_per_layer}; set blocks_per_layer"
            )
        self.scheme, self.width = scheme, width
        self.blocks = nn.ModuleList(blocks)
        self._options = as_json({"name": scheme, **options})
        self._stack = (side, layers, other_layers, blocks_per_layer)
        self.code = self._record()
        self._compile()

    def forward(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return self._run(self, x, *args, **kwargs)

    def calibrate(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> None:
        """Sets parameters that depend on data (Admin's) from one batch, before training."""
        with torch.no_grad():
            operations = _Operations(self.width, lambda name, _: self._find(name))
            self._bound(operations).calibrate(x, lambda k, x: self.blocks[k](x, *args, **kwargs))

    def initial(self, role: str) -> tuple[str, float, float]:
        """How the scheme starts a block's weights: (law, gain, gain of biases).

        Roles: embedding, query, key, value, output, inner, outer; laws as in src/schemes/init.h.
        """
        return _residual.scheme_init(self._options, _residual.Stack(*self._stack), role)

    def extra_repr(self) -> str:
        return f"scheme={self.scheme!r}, width={self.width}"

    def _bound(self, operations: _Operations) -> _residual.Scheme:
        return _residual.Scheme(operations, self._options, _residual.Stack(*self._stack))

    def _owner(self, name: str) -> tuple[nn.Module, str]:
        """The module that has a parameter of a dotted name; made if there is none."""
        owner: nn.Module = self
        *path, last = name.split(".")
        for part in path:
            if part not in owner._modules:
                owner.add_module(part, nn.Module())
            owner = owner._modules[part]  # type: ignore[assignment]
        return owner, last

    def _find(self, name: str) -> torch.Tensor:
        owner, last = self._owner(name)
        return getattr(owner, last)

    def _record(self) -> str:
        """Runs the scheme on names instead of numbers; returns forward() as Python's text."""
        graph = torch.fx.Graph()
        tracer = torch.fx.proxy.GraphAppendingTracer(graph)

        def declare(name: str, start: Sequence[float]) -> torch.fx.Proxy:
            owner, last = self._owner(name)
            values = torch.tensor(start, dtype=torch.get_default_dtype())
            if isinstance(start, tuple):
                owner.register_buffer(last, values, persistent=False)
            else:
                owner.register_parameter(last, nn.Parameter(values))
            return torch.fx.Proxy(graph.create_node("get_attr", name), tracer)

        x, args, kwargs = (
            torch.fx.Proxy(graph.placeholder(name), tracer) for name in ("x", "*args", "**kwargs")
        )

        def block(k: int, x: torch.fx.Proxy) -> torch.fx.Proxy:
            module = torch.fx.Proxy(graph.create_node("get_attr", f"blocks.{k}"), tracer)
            return tracer.create_proxy("call_function", _call, (module, x, args, kwargs), {})

        bound = self._bound(_Operations(self.width, declare))
        y: Any = bound.forward(x, block)
        graph.output(y.node)
        graph.eliminate_dead_code()
        written = graph.python_code("self")
        self._globals = written.globals
        return written.src

    def _compile(self) -> None:
        space = dict(self._globals)
        exec(compile(self.code, f"<residual scheme {self.scheme}>", "exec"), space)
        self._run = space["forward"]

    def __getstate__(self):
        return {
            key: value for key, value in self.__dict__.items() if key not in ("_run", "_globals")
        }

    def __setstate__(self, state):
        super().__setstate__(state)
        fresh = Stack.__new__(Stack)
        nn.Module.__init__(fresh)
        fresh.width, fresh._options, fresh._stack = self.width, self._options, self._stack
        fresh._record()
        self._globals = fresh._globals
        self._compile()


_SCHEMES = {each.name.replace("-", ""): each for each in schemes()}
_CLASSES: dict[str, type[Stack]] = {}


def __getattr__(name: str) -> type[Stack]:
    """The class of a scheme: its name in any case without hyphens, such as ResiDual."""
    scheme = _SCHEMES.get(name.lower())
    if scheme is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if scheme.name not in _CLASSES:

        def __init__(self, blocks: Sequence[nn.Module], width: int, **options: Any):
            Stack.__init__(self, scheme.name, blocks, width, **options)

        doc = f"{scheme.paper}.\n\n    " + "\n    ".join(scheme.equations)
        _CLASSES[scheme.name] = type(
            name, (Stack,), {"__init__": __init__, "__doc__": doc, "__module__": __name__}
        )
    return _CLASSES[scheme.name]
