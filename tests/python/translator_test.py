"""residual.Translator gives what the command gives, and behaves as Python expects."""

import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

import residual


@pytest.fixture(scope="module")
def translator(reverse_model):
    return residual.Translator(reverse_model, beam=4)


def by_command(command, model, lines, *flags):
    text = command("translate", "--model", model, *flags, input="".join(f"{x}\n" for x in lines))
    return text.removesuffix("\n").split("\n")


def test_translations_are_those_of_the_command(translator, reverse_model, command, lines):
    found = translator.translate(lines)
    assert [each.text for each in found] == by_command(command, reverse_model, lines, "--beam", "4")
    assert [str(each) for each in found] == [each.text for each in found]


def test_details_are_those_of_the_command(translator, reverse_model, command, lines):
    wanted = by_command(
        command, reverse_model, lines[:20], "--beam", "4", "--n-best", "3", "--json", "--alignments"
    )
    found = translator.translate(lines[:20], n_best=3, with_attention=True)
    for number, (ours, theirs) in enumerate(zip(found, wanted, strict=True), 1):
        assert {"line": number, **json.loads(ours.json(with_attention=True))} == json.loads(theirs)


def test_alignments_are_those_of_the_command(translator, reverse_model, command, lines):
    wanted = by_command(command, reverse_model, lines, "--beam", "4", "--alignments")
    found = translator.translate(lines, with_attention=True)
    pairs = [" ".join(f"{s}-{t}" for s, t in each.best.alignment) for each in found]
    assert [f"{each.text} ||| {p}".rstrip() for each, p in zip(found, pairs)] == [
        line.rstrip() for line in wanted
    ]


def test_results_have_scores_pieces_attention_and_alignment(translator):
    found = translator.translate("a b c", n_best=2, with_attention=True)
    assert found.source_pieces == ["a", "b", "c"] and len(found.n_best) == 2
    best, other = found.n_best
    assert found.score == best.score > other.score and found.text == best.text == str(found.best)
    assert len(best.log_probabilities) == len(best.pieces) + 1
    assert best.log_probability == pytest.approx(sum(best.log_probabilities), rel=1e-6)
    assert best.attention.shape == (len(best.pieces), 3) and best.attention.dtype == "float32"
    assert set(best.alignment) <= {(int(row.argmax()), i) for i, row in enumerate(best.attention)}
    assert best.warnings == []
    plain = translator.translate("a b c")
    assert plain.best.attention is None
    with pytest.raises(residual.Error, match="with_attention=True"):
        plain.best.alignment


def test_a_line_does_not_depend_on_its_neighbours(translator, lines):
    together = translator.translate(lines, beam=3)
    assert [translator.translate(line, beam=3).score for line in lines] == [
        t.score for t in together
    ]


def test_threads_share_a_translator(translator, lines):
    wanted = [each.text for each in translator.translate(lines)]
    found = [None] * 4

    def work(i):
        found[i] = [each.text for each in translator.translate(lines)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 4


def test_the_gil_is_free_meanwhile(translator, lines):
    ticks = 0
    stop = threading.Event()

    def tick():
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks
    translator.translate(lines * 5, beam=20)
    during = ticks - before
    stop.set()
    thread.join()
    assert during >= 3


def test_prefixes_phrases_and_terms(translator):
    assert translator.translate(["a b c", "d e"], prefix=["q", "r"])[1].text.startswith("r")
    assert "t" in translator.translate("a b c", phrases=["t"]).text.split()
    assert "s" in translator.translate(["a b c"], terms={"b": "s"})[0].text.split()
    with pytest.raises(residual.Error, match="one entry for each of the 2 lines"):
        translator.translate(["a", "b"], prefix=["a"])


def test_terms_of_the_translator(reverse_model, tmp_path):
    (tmp_path / "terms.tsv").write_text("b\ts\n")
    for terms in ({"b": "s"}, tmp_path / "terms.tsv"):
        translator = residual.Translator(reverse_model, terms=terms)
        assert "s" in translator.translate("a b c").text.split()
        assert (
            translator.translate("a b c", terms={}).text
            == residual.Translator(reverse_model).translate("a b c").text
        )


def test_unknown_settings_come_with_a_suggestion(reverse_model, translator):
    with pytest.raises(residual.Error, match='unknown key "beem"; did you mean "beam"'):
        residual.Translator(reverse_model, beem=4)
    with pytest.raises(residual.Error, match='unknown key "beem"; did you mean "beam"'):
        translator.translate(["a"], beem=4)
    with pytest.raises(residual.Error, match="precision.*int8"):
        residual.Translator(reverse_model, precision="int7")
    with pytest.raises(residual.Error, match="beam"):
        translator.translate(["a"], beam=0)
    with pytest.raises(residual.Error, match="sampling"):
        translator.translate(["a"], sampling={"top_k": 3})


def test_settings_are_described_and_typed():
    known = residual.settings()
    assert known["beam"]["minimum"] == 1 and "int8" in known["precision"]["enum"]
    from residual import _settings

    typed = _settings.TranslatorSettings.__annotations__
    assert set(typed) | {"terms"} == set(known)
    assert set(_settings.CallSettings.__annotations__) < set(known)


def test_sampling_is_a_nested_setting(translator):
    one = translator.translate(["a b c"], beam=3, n_best=3, sampling={"is_on": True, "seed": 3})
    two = translator.translate(["a b c"], beam=3, n_best=3, sampling={"is_on": True, "seed": 3})
    assert [h.text for h in one[0].n_best] == [h.text for h in two[0].n_best]


def test_scores_pairs_as_the_command_does(translator, reverse_model, command, tmp_path, lines):
    sources = [line for line in lines if line][:30]
    targets = [each.text for each in translator.translate(sources)]
    (tmp_path / "s").write_text("".join(f"{x}\n" for x in sources))
    (tmp_path / "t").write_text("".join(f"{x}\n" for x in targets))
    printed = command("score-pairs", "--model", reverse_model, tmp_path / "s", tmp_path / "t")
    found = translator.score(sources, targets)
    assert [each.log_probability for each in found] == pytest.approx(
        [float(line.split("\t")[0]) for line in printed.splitlines()], abs=1e-4
    )
    assert all(len(each.log_probabilities) == len(each.pieces) + 1 for each in found)


def test_ensembles(reverse_model):
    one, two = residual.Translator(reverse_model), residual.Translator([reverse_model] * 2)
    assert two.translate("a b c d").text == one.translate("a b c d").text


def test_pickles_by_opening_the_model_again(translator, lines):
    copy = pickle.loads(pickle.dumps(translator))
    assert [t.text for t in copy.translate(lines[:20])] == [
        t.text for t in translator.translate(lines[:20])
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here")
def test_a_forked_process_hears_that_it_must_open_its_own(translator):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            translator.translate(["a"])
            said = "translated"
        except residual.Error as error:
            said = str(error)
        os.write(writer, said.encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert b"open it in the process that uses it" in os.read(reader, 1000)


def test_ctrl_c_interrupts(reverse_model):
    program = f"""
import signal, residual
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where it was ignored
translator = residual.Translator({os.fspath(reverse_model)!r}, beam=60, threads=1)
print("ready", flush=True)
try:
    translator.translate(["a b c d e f g h i j"] * 200000)
except KeyboardInterrupt:
    print("interrupted")
    print(translator.translate("a b c").text)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    begin = time.monotonic()
    out, _ = child.communicate(timeout=60)
    assert out.startswith("interrupted\n") and len(out.splitlines()) == 2
    assert time.monotonic() - begin < 30


def test_wrong_lines_are_refused(translator):
    with pytest.raises(residual.Error, match=r"lines\[1\] contains a line break"):
        translator.translate(["a", "b\nc"])
    with pytest.raises(TypeError, match=r"lines\[0\]: expected a string"):
        translator.translate([b"a"])
    with pytest.raises(residual.Error, match="2 sources, but 1 targets"):
        translator.score(["a", "b"], ["a"])


def test_an_absent_or_damaged_model_is_an_error(tmp_path, reverse_model):
    with pytest.raises(residual.Error, match="absent"):
        residual.Translator(tmp_path / "absent")
    assert residual.Error.__module__ == "residual"


def test_hugging_face_s_cache_is_searched_and_converted_once(
    marian_directory, tmp_path, monkeypatch, command
):
    cache = tmp_path / "hub"
    snapshot = cache / "models--someone--opus-mt-en-art/snapshots/0123abc"
    (snapshot.parent.parent / "refs").mkdir(parents=True)
    (snapshot.parent.parent / "refs/main").write_text("0123abc")
    snapshot.parent.mkdir()
    snapshot.symlink_to(marian_directory)
    monkeypatch.setenv("HF_HUB_CACHE", os.fspath(cache))
    monkeypatch.setenv("RESIDUAL_CACHE", os.fspath(tmp_path / "cache"))
    path = residual.resolve("someone/opus-mt-en-art")
    assert path == residual.resolve("someone/opus-mt-en-art", "0123abc")
    translator = residual.Translator("someone/opus-mt-en-art")
    assert len(list((tmp_path / "cache/models").iterdir())) == 1
    command("-q", "import-marian", marian_directory, "--output", tmp_path / "model")
    target = translator.directions[0][1]
    assert (
        translator.translate("w3 w4 w5", target=target).text
        == by_command(command, tmp_path / "model", ["w3 w4 w5"], "--to", target)[0]
    )
    with pytest.raises(residual.Error, match="not in Hugging Face's cache"):
        residual.Translator("someone/else")
    with pytest.raises(residual.Error, match="no revision"):
        residual.resolve("someone/opus-mt-en-art", "other")


def test_the_example_translates(reverse_model, command, lines):
    example = pathlib.Path(__file__).parents[2] / "examples/python/translate.py"
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        [sys.executable, example, reverse_model, "beam=4", "precision=int8"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == command(
        "translate", "--model", reverse_model, "--beam", "4", "--precision", "int8", input=text
    )
    done = subprocess.run([sys.executable, example, "absent"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("translate.py: absent")
