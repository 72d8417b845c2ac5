"""LibreTranslate's client from PyPI works with `residual serve`."""

import pathlib
import string
import subprocess
import sys
import tempfile
import urllib.error

import libretranslatepy

binary, data = pathlib.Path(sys.argv[1]) / "residual", pathlib.Path(sys.argv[2])
with tempfile.TemporaryDirectory() as directory:

    def residual(*arguments, **options):
        return subprocess.run([binary, *arguments], cwd=directory, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    letters = string.ascii_lowercase[:20]
    (pathlib.Path(directory) / "letters").write_text("".join(f"{c} 1\n" for c in letters))
    residual("import-fairseq", data / "fairseq/resi-dual-beam.safetensors",
             "--source-dictionary", "letters", "--source-language", "de",
             "--target-language", "en", "--tokenizer", "none", "--output", "model")
    made = residual("serve", "--new-api-key", "client")
    (pathlib.Path(directory) / "keys").write_text(made.stdout)
    key = made.stderr.split()[-1]
    lines = ["a b c", "f g h i", "t s r"]
    wanted = residual("translate", "--model", "model", input="\n".join(lines) + "\n").stdout
    server = subprocess.Popen([binary, "serve", "--model", "model", "--port", "0",
                               "--api-keys", "keys"], cwd=directory, text=True,
                              stdout=subprocess.PIPE)
    try:
        address = server.stdout.readline().strip() + "/"
        api = libretranslatepy.LibreTranslateAPI(address, key)
        for line, translation in zip(lines, wanted.splitlines()):
            assert api.translate(line, "de", "en") == translation
            assert api.translate(line, "auto", "en") == translation
        assert api.languages() == [{"code": "de", "name": "German", "targets": ["en"]},
                                   {"code": "en", "name": "English", "targets": []}]
        found = api.detect("Guten Morgen, wie geht es Ihnen?")
        assert found[0]["language"] == "de" and found[0]["confidence"] > 50, found
        try:
            libretranslatepy.LibreTranslateAPI(address).translate("a", "de", "en")
            raise AssertionError("translated without a key")
        except urllib.error.HTTPError as error:
            assert error.code == 401, error.code
    finally:
        server.terminate()
        code = server.wait()
assert code == 0, code
print(f"{2 * len(lines)} translations the same; languages, detection and keys work")
