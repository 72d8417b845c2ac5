"""Models for the tests, and where the build has its programs: set by tests/python/run."""

import os
import pathlib
import string
import subprocess

import pytest

BIN = pathlib.Path(os.environ["RESIDUAL_BIN"])
FIXTURES = pathlib.Path(os.environ["RESIDUAL_FIXTURES"])


@pytest.fixture(scope="session")
def command():
    """The command residual of the build: what the package must agree with."""

    def run(*arguments, **options):
        options = {"check": True, "text": True, "capture_output": True, **options}
        return subprocess.run([BIN / "residual", *arguments], **options).stdout

    return run


@pytest.fixture(scope="session")
def fixtures():
    return FIXTURES


@pytest.fixture(scope="session")
def reverse_model(command, tmp_path_factory):
    """A small ResiDual model that was trained to reverse letters."""
    directory = tmp_path_factory.mktemp("reverse")
    letters = directory / "letters"
    letters.write_text("".join(f"{c} 1\n" for c in string.ascii_lowercase[:20]))
    command(
        "-q",
        "import-fairseq",
        FIXTURES / "fairseq/resi-dual-beam.safetensors",
        "--source-dictionary",
        letters,
        "--source-language",
        "ab",
        "--target-language",
        "ba",
        "--tokenizer",
        "none",
        "--output",
        directory / "model",
    )
    return directory / "model"


@pytest.fixture(scope="session")
def lines():
    """Enough to fill batches, with empty and repeated lines."""
    letters = string.ascii_lowercase[:20]
    made = [
        " ".join(letters[(7 * i + j * (i % 5 + 1)) % 20] for j in range(i % 9)) for i in range(150)
    ]
    return made + ["a b c", "", "a b c"]


@pytest.fixture(scope="session")
def marian_directory():
    return FIXTURES / "marian/opus-mt-en-art"
