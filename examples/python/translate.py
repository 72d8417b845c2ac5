#!/usr/bin/env python3
"""Translates lines with libresidual through ctypes.

usage: translate.py MODEL [SETTINGS] < lines > translations

The environment variable RESIDUAL_LIBRARY names the library if the loader does not find it.
"""

import ctypes
import os
import sys

_lib = ctypes.CDLL(os.environ.get("RESIDUAL_LIBRARY", "libresidual.so.0"))
_lib.residual_error.restype = ctypes.c_char_p
_lib.residual_open.restype = ctypes.c_void_p
_lib.residual_open.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
_lib.residual_close.argtypes = [ctypes.c_void_p]
_lib.residual_translate.restype = ctypes.c_void_p
_lib.residual_translate.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t]
_lib.residual_text.restype = ctypes.c_char_p
_lib.residual_text.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]
_lib.residual_free.argtypes = [ctypes.c_void_p]


class Error(Exception):
    pass


class Translator:
    def __init__(self, model, **settings):
        words = " ".join(f"{key}={value}" for key, value in settings.items())
        self._handle = _lib.residual_open(os.fsencode(model), words.encode())
        if not self._handle:
            raise Error(_lib.residual_error().decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _lib.residual_close(self._handle)
        self._handle = None

    def translate(self, lines):
        array = (ctypes.c_char_p * len(lines))(*(line.encode() for line in lines))
        found = _lib.residual_translate(self._handle, array, len(lines))
        if not found:
            raise Error(_lib.residual_error().decode())
        try:
            return [_lib.residual_text(found, i, 0).decode() for i in range(len(lines))]
        finally:
            _lib.residual_free(found)


def main(model, *settings):
    with Translator(model, **dict(word.split("=", 1) for word in settings)) as translator:
        lines = [line.rstrip("\n") for line in sys.stdin]
        sys.stdout.writelines(text + "\n" for text in translator.translate(lines))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except Error as error:
        sys.exit(f"translate.py: {error}")
