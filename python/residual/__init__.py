"""ResiDual from Python: translation, text tools, metrics, probes, and residual schemes.

    import residual
    translator = residual.Translator("models/de-en", precision="int8")
    for translation in translator.translate(["Guten Morgen!", "Wie geht's?"], beam=4):
        print(translation.text, translation.score)

docs/python.md describes the package.
"""

from ._residual import Error, Hypothesis, Score, ScoredLine, Translation
from ._residual import commit, version as _version
from .hub import resolve
from .metrics import score
from .model import Model
from .probing import Figure, Report, probe
from .schemes import schemes
from .text import Bpe, bpe, detokenize, learn_bpe, tokenize, undo_bpe
from .translator import Translator, settings

__version__ = _version()
Error.__module__ = "residual"

__all__ = [
    "Bpe",
    "Error",
    "Figure",
    "Hypothesis",
    "Model",
    "Report",
    "Score",
    "ScoredLine",
    "Translation",
    "Translator",
    "bpe",
    "commit",
    "detokenize",
    "learn_bpe",
    "probe",
    "resolve",
    "schemes",
    "score",
    "settings",
    "tokenize",
    "undo_bpe",
]
