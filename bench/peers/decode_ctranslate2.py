"""Decoding speed of CTranslate2: sources of 24 tokens, exactly 25 output tokens, beam 5.

decode_ctranslate2.py MODEL COMPUTE_TYPE BATCH THREADS SECONDS

MODEL is written by `residual export --to ctranslate2`. Prints sentences per second, CPU
milliseconds per sentence, and the share of the threads' time that the machine gave them.
"""

import random
import sys
import time

import ctranslate2

model, compute_type = sys.argv[1:3]
batch, threads = map(int, sys.argv[3:5])
seconds = float(sys.argv[5])
translator = ctranslate2.Translator(model, compute_type=compute_type, inter_threads=threads,
                                    intra_threads=1)
words = random.Random(1)


def translate(count):
    lines = [[f"w{words.randrange(9000)}" for _ in range(23)] for _ in range(count)]
    results = translator.translate_batch(
        lines, max_batch_size=batch, batch_type="examples", beam_size=5,
        min_decoding_length=25, max_decoding_length=25)
    assert all(len(r.hypotheses[0]) == 25 for r in results)
    return count


translate(2 * batch)
sentences, wall, cpu = 0, time.monotonic(), time.process_time()
while time.monotonic() - wall < seconds:
    sentences += translate(2 * threads * batch)
wall, cpu = time.monotonic() - wall, time.process_time() - cpu
print(f"{sentences / wall:.2f} {1e3 * cpu / sentences:.3f} {cpu / wall / threads:.3f}")
