"""OpenAI's client from PyPI works with `residual serve` of a language model."""

import pathlib
import subprocess
import sys

import openai

binary, data = pathlib.Path(sys.argv[1]) / "residual", pathlib.Path(sys.argv[2])
model = data / "language/language.residual"
prompt = "The quiet farmer"
wanted = subprocess.run([binary, "generate", "--model", model, "--max-tokens", "12",
                         "--continuation-only", "--prompt", prompt],
                        check=True, text=True, stdout=subprocess.PIPE).stdout.rstrip("\n")
server = subprocess.Popen([binary, "serve", "--model", model, "--port", "0"], text=True,
                          stdout=subprocess.PIPE)
try:
    address = server.stdout.readline().strip()
    client = openai.OpenAI(base_url=address + "/v1", api_key="none", max_retries=0)
    name = client.models.list().data[0].id
    assert name == "language.residual", name

    def complete(**options):
        return client.completions.create(model=name, max_tokens=12, **options)

    greedy = complete(prompt=prompt, temperature=0)
    assert greedy.choices[0].text == wanted, greedy
    assert greedy.usage.completion_tokens <= 12, greedy
    drawn = complete(prompt=[prompt, "Those"], n=2, seed=3)
    assert [choice.index for choice in drawn.choices] == [0, 1, 2, 3], drawn
    parts = [""] * 4
    for event in complete(prompt=[prompt, "Those"], n=2, seed=3, stream=True):
        for choice in event.choices:
            parts[choice.index] += choice.text
    assert parts == [choice.text for choice in drawn.choices], (parts, drawn)
    try:
        complete(prompt=prompt, presence_penalty=1)
        raise AssertionError("ignored a penalty")
    except openai.BadRequestError as error:
        assert "presence_penalty" in error.message, error
finally:
    server.terminate()
    code = server.wait()
assert code == 0, code
print("5 completions the same, at once and streamed; models and errors work")
