"""CTranslate2 runs the models that `residual export --to ctranslate2` writes, with our results."""

import json
import pathlib
import random
import string
import subprocess
import sys
import tempfile

import ctranslate2
import numpy

binary, data = pathlib.Path(sys.argv[1]) / "residual", pathlib.Path(sys.argv[2])
letters = string.ascii_lowercase[:20]
lines = [" ".join(random.Random(i).sample(letters, i % 12 + 1)) for i in range(60)]
worst = 0.0
for scheme in "post-ln", "pre-ln":
    with tempfile.TemporaryDirectory() as directory:

        def residual(*arguments, **options):
            return subprocess.run([binary, *arguments], cwd=directory, check=True, text=True,
                                  stdout=subprocess.PIPE, **options).stdout

        (pathlib.Path(directory) / "letters").write_text("".join(f"{c} 1\n" for c in letters))
        residual("import-fairseq", data / f"fairseq/{scheme}-beam.safetensors",
                 "--source-dictionary", "letters", "--source-language", "ab",
                 "--target-language", "ba", "--tokenizer", "none", "--output", "model")
        residual("export", "--model", "model", "--to", "ctranslate2", "--output", "exported")
        ours = residual("translate", "--model", "model", "--beam", "1", "--max-length", "64",
                        "--json", input="\n".join(lines) + "\n")
        translator = ctranslate2.Translator(f"{directory}/exported", compute_type="float32")

    for line in map(json.loads, ours.splitlines()):
        best, source = line["translations"][0], line["source_pieces"]
        theirs = translator.translate_batch([source], beam_size=1, max_decoding_length=64)[0]
        assert theirs.hypotheses[0] == best["pieces"], (theirs.hypotheses[0], best["pieces"])
        scored = translator.score_batch([source], [best["pieces"]])[0].log_probs
        worst = max(worst, numpy.abs(numpy.subtract(scored, best["log_probabilities"])).max())
assert worst < 1e-4, worst
print(f"{2 * len(lines)} translations the same, log-probabilities to {worst:.1e}")
