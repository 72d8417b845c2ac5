#pragma once

namespace residual::test {

// Shell commands that make text, a recipe and a plan for training in a second or two: sentences to
// be written backwards.
inline constexpr const char* kTinyTasks = R"sh(
set -e
for i in $(seq 300); do echo "a b c $((i % 7)) d $((i % 5)) e $((i % 3))"; done > train.en
rev train.en > train.de
head -n 20 train.en > test.en
head -n 20 train.de > test.de
tiny_prepare='residual -q prepare --source-lang en --target-lang de --train train --test test
  --force --set split.dev_every=20 --set text.tokenizer=none --set subwords.kind=bpe
  --set subwords.merges=20 --set clean.overlap=keep -o'
$tiny_prepare prepared > /dev/null
cat > tiny.toml <<'E1'
[data]
prepared = "prepared"
[model]
encoder_layers = 1
decoder_layers = 1
width = 16
inner = 32
heads = 2
[batch]
max_tokens = 256
[schedule]
peak = 1e-2
warmup = 20
[train]
max_updates = 40
workers = 1
[checkpoint]
every_updates = 10
[log]
every_updates = 5
E1
cat > plan.toml <<'E2'
recipe = "tiny.toml"
corpus = "prepared"
depths = 1
schemes = [{ name = "pre-ln" }, { name = "resi-dual" }]
E2
set +e
)sh";

}  // namespace residual::test
