"""TensorBoard reads our event files, and shows no step of a resumed run twice."""

import pathlib
import subprocess
import sys
import tempfile

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

binaries = pathlib.Path(sys.argv[1])
with tempfile.TemporaryDirectory() as directory:
    subprocess.run([binaries / "ecosystem_events", directory], check=True)
    events = EventAccumulator(directory).Reload()

assert events.Tags()["scalars"] == ["train/loss", "valid/bleu"], events.Tags()
loss = events.Scalars("train/loss")
assert [e.step for e in loss] == list(range(1, 41)), [e.step for e in loss]
assert [e.value for e in loss] == [s if s <= 20 else 2 * s for s in range(1, 41)]
assert [e.wall_time for e in loss] == [1.7e9 + s for s in range(1, 41)]
bleu = events.Scalars("valid/bleu")
assert [(e.step, round(e.value, 2)) for e in bleu] == [(40, 35.63)], bleu
print("40 steps of a resumed run, each once")
