"""Bulk translation: the bytes of one process, in parts, resumed, on Spark and on Ray."""

import os
import pathlib
import subprocess
import sys

import pytest

import residual
from residual.bulk import Job

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


@pytest.fixture
def source(tmp_path, lines):
    path = tmp_path / "lines"
    path.write_text("\n".join(lines))  # the last line without its end
    return path


def joined(output):
    return b"".join(part.read_bytes() for part in sorted(pathlib.Path(output).glob("part-*")))


@pytest.fixture
def wanted(reverse_model, command, source):
    return command("translate", "--model", reverse_model, source).encode()


def test_parts_in_order_are_what_the_command_writes(reverse_model, source, tmp_path, wanted):
    job = Job(os.fspath(reverse_model), os.fspath(source), os.fspath(tmp_path / "out"), lines=40)
    parts = job.parts()
    assert len(parts) == 4
    assert sum(job.run(part) for part in reversed(parts)) == len(source.read_text().split("\n"))
    assert joined(job.output) == wanted
    assert sum(job.run(part) for part in parts) == 0


def test_goes_on_with_what_is_missing_and_refuses_another_job(
    reverse_model, source, tmp_path, wanted
):
    arguments = [os.fspath(reverse_model), os.fspath(source), os.fspath(tmp_path / "out")]
    job = Job(*arguments, lines=40)
    for part in job.parts():
        job.run(part)
    job.path(job.parts()[2]).unlink()
    assert [job.run(part) > 0 for part in job.parts()] == [False, False, True, False]
    assert joined(job.output) == wanted
    for other in (Job(*arguments, lines=41), Job(*arguments, lines=40, settings={"beam": 2})):
        with pytest.raises(residual.Error, match="parts here are of another job"):
            other.parts()


def test_processes_may_write_the_same_part(reverse_model, source, tmp_path, wanted):
    program = (
        "import sys; from residual.bulk import Job\njob = Job(*sys.argv[1:], lines=40)\n"
        "for part in job.parts(): job.run(part)"
    )
    many = [
        subprocess.Popen([sys.executable, "-c", program, reverse_model, source, tmp_path / "out"])
        for _ in range(3)
    ]
    assert [each.wait() for each in many] == [0, 0, 0]
    assert joined(tmp_path / "out") == wanted
    assert not list((tmp_path / "out").glob(".*"))


def test_text_that_is_no_utf8_names_its_place(reverse_model, tmp_path):
    (tmp_path / "lines").write_bytes(b"a b\nc \xff d\n")
    job = Job(os.fspath(reverse_model), os.fspath(tmp_path / "lines"), os.fspath(tmp_path / "out"))
    with pytest.raises(residual.Error, match="lines: byte 7 is not valid UTF-8"):
        job.run(job.parts()[0])


@pytest.mark.cluster
@pytest.mark.parametrize("engine, package", [("spark", "pyspark"), ("ray", "ray")])
def test_clusters_write_the_same_bytes(engine, package, reverse_model, source, tmp_path, wanted):
    pytest.importorskip(package)
    program = [
        sys.executable,
        EXAMPLES / engine / "translate.py",
        reverse_model,
        source,
        tmp_path / "out",
        "lines=40",
    ]
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": "--master local[2] pyspark-shell",
        "RAY_USAGE_STATS_ENABLED": "0",
    }

    def run():
        done = subprocess.run(
            program, env=environment, capture_output=True, text=True, cwd=tmp_path, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().splitlines()[-1]

    count = len(source.read_text().split("\n"))
    assert run() == f"{count} lines translated, 4 parts in {tmp_path / 'out'}"
    assert joined(tmp_path / "out") == wanted
    (tmp_path / "out/part-000001").unlink()
    assert run().startswith("40 lines translated")
    assert joined(tmp_path / "out") == wanted
