#!/usr/bin/env python3
"""Speed of training in PyTorch: the model and batch of train_bench, written with torch.nn.

    train_torch.py --scheme resi-dual --layers 6 --updates 5

A Transformer as fairseq 0.12 builds it, rows of equal length, so that nothing is padded. Prints
the median speed, every update's seconds and the process's peak memory. Runs with PyTorch 1.13 and
2.x; --compile and --fused-adam need 2.x.
"""

import math
import resource
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

import train_options


class Residual(nn.Module):
    """Post-LN, or ResiDual with its second stream, around the blocks of a stack."""

    def __init__(self, scheme, blocks, width, dropout):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(blocks))
        self.dual_norm = nn.LayerNorm(width, eps=1e-7) if scheme == "resi-dual" else None
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, blocks):
        dual = x
        for norm, block in zip(self.norms, blocks):
            f = self.dropout(block(x))
            if self.dual_norm is not None:
                dual = dual + f
            x = norm(x + f)
        return x if self.dual_norm is None else x + self.dual_norm(dual)


class FeedForward(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.inner = nn.Linear(o.width, o.inner)
        self.outer = nn.Linear(o.inner, o.width)
        self.dropout = nn.Dropout(o.activation_dropout)

    def forward(self, x):
        return self.outer(self.dropout(F.relu(self.inner(x))))


class Stack(nn.Module):
    def __init__(self, o, is_decoder):
        super().__init__()

        def attention():
            return nn.MultiheadAttention(o.width, o.heads, dropout=o.attention_dropout)

        self.attention = nn.ModuleList(attention() for _ in range(o.layers))
        self.cross = nn.ModuleList(attention() for _ in range(o.layers if is_decoder else 0))
        self.feed_forward = nn.ModuleList(FeedForward(o) for _ in range(o.layers))
        self.residual = Residual(o.scheme, o.layers * (3 if is_decoder else 2), o.width, o.dropout)

    def forward(self, x, memory=None):
        mask = None
        if memory is not None:
            hidden = torch.full((x.size(0), x.size(0)), float("-inf"))
            mask = torch.triu(hidden, diagonal=1)

        def attend(module, keys=None, mask=None):
            return lambda x: module(x, x if keys is None else keys, x if keys is None else keys,
                                    attn_mask=mask, need_weights=False)[0]

        blocks = []
        for i, feed_forward in enumerate(self.feed_forward):
            blocks.append(attend(self.attention[i], mask=mask))
            if memory is not None:
                blocks.append(attend(self.cross[i], keys=memory))
            blocks.append(feed_forward)
        return self.residual(x, blocks)


class Transformer(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.embedding = nn.Embedding(o.vocabulary, o.width)
        nn.init.normal_(self.embedding.weight, std=o.width**-0.5)
        self.encoder = Stack(o, is_decoder=False)
        self.decoder = Stack(o, is_decoder=True)
        self.dropout = nn.Dropout(o.dropout)
        self.scale = math.sqrt(o.width)
        half = o.width // 2
        frequency = torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
        angle = torch.arange(1024).unsqueeze(1) * frequency.unsqueeze(0)
        self.register_buffer("positions", torch.cat([angle.sin(), angle.cos()], 1).unsqueeze(1))

    def embed(self, ids):  # [length, sentences]
        return self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.size(0)])

    def forward(self, source, previous):
        y = self.decoder(self.embed(previous), self.encoder(self.embed(source)))
        return F.linear(y, self.embedding.weight)


def smoothed_loss(logits, target, epsilon):
    log_p = F.log_softmax(logits, dim=-1).view(-1, logits.size(-1))
    nll = -log_p.gather(1, target.reshape(-1, 1)).sum()
    each = epsilon / (logits.size(-1) - 1)
    return (1 - epsilon - each) * nll - each * log_p.sum()


def options():
    parser = train_options.parser(__doc__.splitlines()[0], ["post-ln", "resi-dual"], "resi-dual")
    parser.add_argument("--fused-adam", action="store_true")
    parser.add_argument("--compile", action="store_true")
    return parser.parse_args()


def main():
    o = options()
    torch.manual_seed(1)
    torch.set_num_threads(o.threads)
    model = Transformer(o)
    adam = torch.optim.Adam(model.parameters(), lr=1e-5, betas=(0.9, 0.98),
                            **({"fused": True} if o.fused_adam else {}))
    run = torch.compile(model) if o.compile else model
    source = torch.randint(4, o.vocabulary, (o.length, o.sentences))
    target = torch.randint(4, o.vocabulary, (o.length, o.sentences))
    source[-1] = target[-1] = 2
    previous = target.roll(1, 0)
    tokens = target.numel()

    def update():
        start = time.perf_counter()
        adam.zero_grad()
        loss = smoothed_loss(run(source, previous), target, 0.1) / tokens
        loss.backward()
        adam.step()
        return time.perf_counter() - start

    for _ in range(2):
        update()
    times = [update() for _ in range(o.updates)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"torch {torch.__version__} {o.scheme} layers {o.layers} threads {o.threads}"
          f"{' compile' if o.compile else ''}{' fused-adam' if o.fused_adam else ''}: "
          f"{tokens / statistics.median(times):.0f} tokens/s, {peak:.0f} MB; "
          f"seconds {' '.join(f'{t:.2f}' for t in times)}", flush=True)


if __name__ == "__main__":
    main()
