#!/usr/bin/env python3
"""Speed of training in Marian: the model and batch of train_bench, through PyPI's pymarian.

    train_marian.py --scheme post-ln --layers 6 --updates 5

Words are drawn at random, sentences are equally long, so that nothing is padded. Threads share
every batch, one update for all (synchronous). Prints the median speed, every update's
seconds and the process's peak memory.
"""

import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import train_options

COMMAND = """--type transformer --task transformer-base --dim-emb {width} --transformer-dim-ffn {inner}
 --transformer-heads {heads} --enc-depth {layers} --dec-depth {layers} --tied-embeddings-all
 --transformer-postprocess {postprocess} --transformer-preprocess {preprocess}
 --transformer-postprocess-emb d --transformer-postprocess-top {top} --transformer-ffn-activation relu
 --transformer-dropout {dropout} --transformer-dropout-attention {attention_dropout}
 --transformer-dropout-ffn {activation_dropout} --label-smoothing 0.1 --clip-norm 0 --learn-rate 1e-5
 --optimizer adam --optimizer-params 0.9 0.98 1e-9 --exponential-smoothing 0
 --train-sets {directory}/text.source {directory}/text.target --vocabs {directory}/v.yml {directory}/v.yml
 --mini-batch {sentences} --mini-batch-fit false --maxi-batch 1 --shuffle none --max-length 100
 --after-batches {updates} --disp-freq 1 --save-freq 1000000 --overwrite --no-spm-encode
 --model {directory}/model.npz --cpu-threads {threads} --sync-sgd --workspace 512 --log-level info"""
BLOCKS = {"post-ln": dict(postprocess="dan", preprocess="d", top="d"),
          "pre-ln": dict(postprocess="da", preprocess="n", top="n")}
UPDATE = re.compile(r"Up\. \d+ : .*Time ([0-9.]+)s")


def write_corpus(directory, o):
    """Sentences of o.length - 1 words: Marian adds the end of the sentence."""
    words = [f"w{i}" for i in range(o.vocabulary - 2)]
    rows = enumerate(["</s>", "<unk>", *words])
    (directory / "v.yml").write_text("".join(f"{word}: {i}\n" for i, word in rows))
    draw, count = random.Random(1), o.sentences * (o.updates + 2)
    for side in ("source", "target"):
        lines = (" ".join(draw.choices(words, k=o.length - 1)) for _ in range(count))
        (directory / f"text.{side}").write_text("".join(line + "\n" for line in lines))


def main():
    o = train_options.parser(__doc__.splitlines()[0], list(BLOCKS), "post-ln").parse_args()
    with tempfile.TemporaryDirectory() as name:
        write_corpus(Path(name), o)
        values = {**vars(o), **BLOCKS[o.scheme], "directory": name, "updates": o.updates + 2}
        command = [sys.executable, "-m", "pymarian", "train", *COMMAND.format(**values).split()]
        log = subprocess.run(command, check=True, text=True, capture_output=True).stderr
    seconds = [float(found) for found in UPDATE.findall(log)][2:]  # the first ones warm up
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
    speed = o.sentences * o.length / statistics.median(seconds)
    print(f"{o.scheme} {o.layers} layers: {speed:.0f} tokens/s, {memory:.0f} MB; seconds "
          + " ".join(f"{s:.2f}" for s in seconds))


if __name__ == "__main__":
    main()
