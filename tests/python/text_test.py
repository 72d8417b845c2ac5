"""Text tools and metrics: the lines of Moses and subword-nmt, the numbers of sacreBLEU."""

import random

import numpy
import pytest

import residual


def lines_of(path):
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_moses(fixtures, language):
    moses = fixtures / "moses"
    lines = lines_of(moses / f"in.{language}")
    assert residual.tokenize(lines, language) == lines_of(moses / f"tok.{language}")
    assert residual.tokenize(lines, language, aggressive=True) == lines_of(
        moses / f"tok-aggressive.{language}"
    )
    assert residual.tokenize(lines, language, escape=False) == lines_of(
        moses / f"tok-no-escape.{language}"
    )
    assert residual.detokenize(lines_of(moses / f"tok.{language}"), language) == lines_of(
        moses / f"detok.{language}"
    )


def test_a_string_gives_a_string():
    assert residual.tokenize("Don't panic!") == "Don &apos;t panic !"
    assert residual.detokenize("Don &apos;t panic !") == "Don't panic!"
    with pytest.raises(residual.Error, match="line break"):
        residual.tokenize("a\nb")


@pytest.mark.parametrize("size", [100, 400])
def test_bpe(fixtures, size):
    codes = fixtures / f"bpe/{size}.codes"
    bpe = residual.Bpe(codes)
    for language in ("en", "de", "fr"):
        tokens = lines_of(fixtures / f"moses/tok.{language}")
        wanted = lines_of(fixtures / f"bpe/{size}.{language}")
        assert bpe(tokens) == wanted == residual.bpe(tokens, codes.read_text())
        assert bpe.undo(wanted) == [line.rstrip() for line in tokens]
    assert len(bpe) == len(lines_of(codes)) - 1


def test_bpe_is_learnt_as_the_command_learns_it(fixtures, command):
    file = fixtures / "moses/tok.en"
    assert residual.learn_bpe(lines_of(file), 50) == command("bpe", "learn", "--merges", "50", file)


def test_absent_codes_are_an_error():
    with pytest.raises(residual.Error, match="absent: No such file"):
        residual.Bpe("absent")


def random_lines(seed, count, words):
    rng = random.Random(seed)
    alphabet = ["a", "bb", "das", "Haus", "ist", ",", ".", "42", "Grüße", "日本語", "don't", "!?"]
    return [" ".join(rng.choices(alphabet, k=rng.randint(0, words))) for _ in range(count)]


METRICS = [
    ("bleu", "BLEU", {}),
    ("bleu", "BLEU", {"tokenize": "intl", "lowercase": True}),
    ("bleu", "BLEU", {"smooth_method": "floor", "smooth_value": 0.01}),
    ("bleu", "BLEU", {"smooth_method": "none", "max_ngram_order": 2}),
    ("chrf", "CHRF", {}),
    ("chrf", "CHRF", {"char_order": 4, "beta": 3, "whitespace": True}),
    ("chrf++", "CHRF", {"word_order": 2}),
    ("ter", "TER", {}),
    ("ter", "TER", {"normalized": True, "case_sensitive": True}),
]


@pytest.mark.parametrize("metric, theirs, options", METRICS)
def test_scores_are_sacrebleus(metric, theirs, options):
    sacrebleu = pytest.importorskip("sacrebleu")
    references = [random_lines(1, 120, 12), random_lines(2, 120, 12)]
    rng = random.Random(3)
    hypotheses = [" ".join(w for w in line.split() if rng.random() > 0.2) for line in references[0]]
    judge = getattr(sacrebleu.metrics, theirs)(**options)
    wanted = judge.corpus_score(hypotheses, references)
    ours = {key: value for key, value in options.items() if metric != "chrf++"}
    found = residual.score(hypotheses, references, metric, **ours)
    assert found.score == pytest.approx(wanted.score, abs=1e-9) and float(found) == found.score
    assert found.name == wanted.name
    drop = lambda text: text.split("|version")[0]
    assert drop(found.signature) == drop(str(judge.get_signature()))
    one = residual.score(hypotheses, references[0], metric, **ours)
    assert one.score == pytest.approx(
        judge.corpus_score(hypotheses, references[:1]).score, abs=1e-9
    )


def test_sentence_scores_and_confidence_are_sacrebleus():
    sacrebleu = pytest.importorskip("sacrebleu")
    reference, hypotheses = random_lines(1, 60, 12), random_lines(4, 60, 12)
    judge = sacrebleu.metrics.BLEU(effective_order=True)
    found = residual.score(hypotheses, reference, sentence_level=True)
    assert [each.score for each in found] == pytest.approx(
        [judge.sentence_score(h, [r]).score for h, r in zip(hypotheses, reference)], abs=1e-9
    )
    numpy.random.seed(12345)
    judge = sacrebleu.metrics.BLEU()
    wanted = judge.corpus_score(hypotheses, [reference], n_bootstrap=300)
    mean, half = residual.score(hypotheses, reference, confidence=300).confidence
    assert (mean, half) == pytest.approx((wanted._mean, wanted._ci), abs=1e-6)


def test_wrong_calls_are_errors():
    with pytest.raises(residual.Error, match='did you mean "chrf"'):
        residual.score(["a"], ["a"], "chr")
    with pytest.raises(residual.Error, match='did you mean "tokenize"'):
        residual.score(["a"], ["a"], tokenise="13a")
    with pytest.raises(residual.Error, match="2"):
        residual.score(["a", "b"], ["a"])
    with pytest.raises(TypeError, match="got a string"):
        residual.score("a", ["a"])
