"""PyPI's safetensors reads our model files, and we read its files."""

import pathlib
import subprocess
import sys
import tempfile

import numpy
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

residual, data = pathlib.Path(sys.argv[1]) / "residual", pathlib.Path(sys.argv[2])
with tempfile.TemporaryDirectory() as name:
    directory = pathlib.Path(name)
    for language in "de", "en":
        lines = [f"w{i} 1\n" for i in range(4, 40)]
        (directory / f"dict.{language}.txt").write_text("".join(lines))

    # Theirs: a fairseq checkpoint as save_file leaves it. Ours: the model directory made of it.
    fixture = load_file(data / "fairseq/resi-dual-e2d2.safetensors")
    theirs = {k.removeprefix("param."): v for k, v in fixture.items() if k.startswith("param.")}
    theirs["encoder.version"] = numpy.array([3], dtype=numpy.float32)
    save_file(theirs, directory / "checkpoint.safetensors", metadata={"heads": "2"})
    subprocess.run(
        [residual, "import-fairseq", "checkpoint.safetensors", "--scheme", "resi-dual",
         "--source-dictionary", "dict.de.txt", "--target-dictionary", "dict.en.txt",
         "--output", "model"], cwd=directory, check=True)
    subprocess.run([residual, "verify", "model"], cwd=directory, check=True)
    ours = load_file(directory / "model/model.safetensors")
    with safe_open(directory / "model/model.safetensors", "numpy") as file:
        assert file.metadata() == {"format": "residual"}, file.metadata()

attention = "encoder.layers.1.self_attn."
qkv = numpy.concatenate([theirs[f"{attention}{p}_proj.weight"] for p in "qkv"])
assert numpy.array_equal(ours["encoder.layers.1.self_attention.qkv.weight"], qkv)
assert numpy.array_equal(ours["embedding.weight"], theirs["encoder.embed_tokens.weight"])
assert sum(v.size for v in ours.values()) == sum(v.size for v in theirs.values()) - 1
print(f"{len(ours)} tensors, {sum(v.size for v in ours.values())} numbers, all equal")
