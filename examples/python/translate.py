#!/usr/bin/env python3
"""Translates lines with the package residual.

usage: translate.py MODEL [KEY=VALUE...] < lines > translations
"""

import json
import sys

import residual


def value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def main(model, *words):
    settings = {key: value(text) for key, text in (word.split("=", 1) for word in words)}
    translator = residual.Translator(model, **settings)
    lines = [line.rstrip("\n") for line in sys.stdin]
    for translation in translator.translate(lines):
        print(translation.text)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except residual.Error as error:
        sys.exit(f"translate.py: {error}")
