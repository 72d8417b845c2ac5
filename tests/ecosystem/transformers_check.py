"""Models of Hugging Face's library have the same logits here, and again when they are exported."""

import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import torch
import transformers
from transformers import (BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, LlamaConfig,
                          LlamaForCausalLM)

binary = pathlib.Path(sys.argv[1])
transformers.logging.set_verbosity_error()
LIMIT = 1e-4


def llama(**options):
    return LlamaForCausalLM(LlamaConfig(**{
        "vocab_size": 97, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3,
        "num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 64,
        "bos_token_id": 1, "eos_token_id": 2, **options}))


def gpt2(**options):
    return GPT2LMHeadModel(GPT2Config(**{
        "vocab_size": 97, "n_embd": 48, "n_layer": 3, "n_head": 4, "n_positions": 64,
        "bos_token_id": 96, "eos_token_id": 96, **options}))


def bert(**options):
    return BertForMaskedLM(BertConfig(**{
        "vocab_size": 97, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
        "intermediate_size": 80, "max_position_embeddings": 64, **options}))


MODELS = {
    "llama": (llama, {}),
    "llama with one head of keys, ends tied": (llama, {"num_key_value_heads": 1,
                                                        "tie_word_embeddings": True}),
    "llama with biases in attention": (llama, {"attention_bias": True, "rope_theta": 50.0,
                                               "pad_token_id": 0, "rms_norm_eps": 0.01}),
    "gpt2": (gpt2, {}),
    "gpt2 with ReLU and another first symbol": (gpt2, {"activation_function": "relu", "n_inner": 60,
                                                       "bos_token_id": 3,
                                                       "tie_word_embeddings": False}),
    "bert": (bert, {}),
    "bert with gelu_new": (bert, {"hidden_act": "gelu_new", "type_vocab_size": 1}),
}

worst = {"imported": 0.0, "exported": 0.0}
for name, (make, options) in MODELS.items():
    torch.manual_seed(len(name))
    model = make(**options).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases and norms off 0 and 1, logits of some size
            parameter.add_(0.1 * torch.randn_like(parameter))
    ids = [random.Random(i).randrange(97) for i in range(40)]
    if model.config.model_type != "bert":
        ids[0] = model.config.bos_token_id
    with tempfile.TemporaryDirectory() as directory, torch.no_grad():
        model.save_pretrained(f"{directory}/theirs", safe_serialization=True)

        def residual(program, *arguments):
            return subprocess.run([binary / program, *arguments], cwd=directory, check=True,
                                  text=True, stdout=subprocess.PIPE).stdout

        residual("residual", "-q", "import-hugging-face", "theirs", "-o", "ours")
        residual("residual", "-q", "export", "--model", "ours", "--to", "hugging-face", "-o", "back")
        lines = residual("ecosystem_logits", "ours", *map(str, ids)).splitlines()
        ours = numpy.array([line.split() for line in lines], dtype=numpy.float32)
        again = type(model).from_pretrained(f"{directory}/back").eval()
        want = model(torch.tensor([ids])).logits[0].numpy()
        back = again(torch.tensor([ids])).logits[0].numpy()
    for what, got in ("imported", ours), ("exported", back):
        difference = numpy.abs(got - want).max()
        print(f"{name}, {what}: logits up to {numpy.abs(want).max():.1f}, "
              f"differences up to {difference:.1e}")
        worst[what] = max(worst[what], difference)
assert max(worst.values()) < LIMIT, worst
