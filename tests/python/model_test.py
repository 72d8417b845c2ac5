"""residual.Model, probe() and schemes()."""

import json
import os
import pathlib
import shutil
import sys

import numpy
import pytest

import residual


def test_parameters_are_the_file_s(reverse_model):
    model = residual.Model(reverse_model)
    file = (reverse_model / "model.safetensors").read_bytes()
    size = int.from_bytes(file[:8], "little")
    header = json.loads(file[8 : 8 + size])
    header.pop("__metadata__", None)
    assert set(model) == set(header) and len(model) == len(header)
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        assert (
            model[name].tobytes() == file[begin:end] and list(model[name].shape) == entry["shape"]
        )
    assert model.config["model"]["residual"]["name"] == "resi-dual"


def test_arrays_share_one_mapping_and_the_file_stays(reverse_model):
    model, other = residual.Model(reverse_model), residual.Model(reverse_model)
    name = next(iter(model))
    before = other[name].copy()
    model[name][...] = 7
    assert (model[name] == 7).all() and numpy.array_equal(other[name], before)
    assert numpy.array_equal(residual.Model(reverse_model)[name], before)


def test_bundles_are_models_too(reverse_model, command, tmp_path):
    command(
        "-q",
        "export",
        "--model",
        reverse_model,
        "--to",
        "bundle",
        "--output",
        tmp_path / "m.bundle",
    )
    bundle, model = residual.Model(tmp_path / "m.bundle"), residual.Model(reverse_model)
    assert set(bundle) == set(model)
    assert all(numpy.array_equal(bundle[name], model[name]) for name in model)


def test_a_changed_file_is_an_error(reverse_model, tmp_path):
    copy = tmp_path / "model"
    shutil.copytree(reverse_model, copy)
    with open(copy / "model.safetensors", "r+b") as file:
        file.seek(-5, os.SEEK_END)
        file.write(b"!")
    with pytest.raises(residual.Error, match="model.safetensors"):
        residual.Model(copy)
    with pytest.raises(KeyError, match="has no parameter absent"):
        residual.Model(reverse_model)["absent"]


def test_schemes_are_the_command_s(command):
    printed = command("schemes")
    for scheme in residual.schemes():
        assert scheme.name in printed and all(each in printed for each in scheme.equations)
    by_name = {scheme.name: scheme for scheme in residual.schemes()}
    assert set(by_name["resi-dual"].options) == {"eta", "output_scale", "dual_from_zero"}


PROGRAM = """#!{python}
import json, pathlib, sys
directory = pathlib.Path(sys.argv[sys.argv.index("--output") + 1])
if "--wrong" in sys.argv:
    sys.exit("residual: error: --wrong: unknown option")
(directory / "report.json").write_text(json.dumps({{
    "title": "A report", "facts": {{"arguments": " ".join(sys.argv[1:])}}, "tables": [],
    "figures": [{{"id": "encoder-gradients", "title": "t", "x_label": "x", "y_label": "y",
                  "note": "", "series": [{{"name": "post-ln"}}], "rows": [[1, 2.5], [2, None]]}}]}}))
"""


def test_probe_runs_the_program_and_reads_its_report(tmp_path):
    program = tmp_path / "program"
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    report = residual.probe(
        compare=["post-ln", "resi-dual"],
        layers=2,
        at_initialisation=True,
        set={"model.width": 16},
        from_="en",
        program=program,
    )
    words = report.facts["arguments"].split(" --output")[0]
    assert words == (
        "-q probe --compare post-ln,resi-dual --layers 2 --at-initialisation "
        "--set model.width=16 --from en --format json"
    )
    figure = report.figures["encoder-gradients"]
    assert figure.x.tolist() == [1, 2] and numpy.isnan(figure.series["post-ln"][1])
    with pytest.raises(residual.Error, match="^--wrong: unknown option$"):
        residual.probe(wrong=True, program=program)
    with pytest.raises(residual.Error, match="not found; install the command"):
        residual.probe(program=tmp_path / "absent")


def test_probe_measures_a_model_at_initialisation(tmp_path):
    program = pathlib.Path(os.environ["RESIDUAL_BIN"]) / "residual"
    if not program.with_name("residual-train").exists():
        pytest.skip("residual-train is not built")
    report = residual.probe(
        compare=["post-ln", "resi-dual"],
        layers=2,
        tokens=64,
        program=program,
        set={"model.width": 16, "model.inner": 32, "model.heads": 2},
    )
    gradients = report.figures["encoder-gradients"]
    assert set(gradients.series) >= {"post-ln", "resi-dual"} and gradients.x.tolist() == [
        1,
        2,
        3,
        4,
    ]
    assert all((curve > 0).all() for curve in gradients.series.values())
    with pytest.raises(residual.Error, match="layers"):
        residual.probe(layers=-1, program=program)
