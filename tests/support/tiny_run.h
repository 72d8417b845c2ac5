#pragma once

#include <string>

#include "base/log.h"
#include "base/progress.h"
#include "base/random.h"
#include "data/prepare.h"
#include "run/config.h"
#include "support/temporary.h"

// A task small enough to learn in a test: to write a sentence backwards.
namespace residual::test {

class ReverseTask {
 public:
  explicit ReverseTask(int sentences = 400) {
    const bool quiet = Progress::quiet();
    const auto level = log::level();
    Progress::set_quiet(true);
    log::set_level(log::Level::error);
    write("train", 1, sentences);
    write("dev", 2, 40);
    data::Recipe recipe;
    recipe.data = directory_.path().string();
    recipe.pairs = {"en-de"};
    recipe.test = {};
    recipe.text.tokenizer = data::TokenizerKind::none;
    recipe.subwords.kind = data::SubwordKind::none;
    data::prepare(recipe, {.output = prepared()});
    Progress::set_quiet(quiet);
    log::set_level(level);
  }

  fs::path prepared() const { return directory_ / "prepared"; }
  fs::path path(const std::string& name) const { return directory_ / name; }

  // With dropout everywhere, several epochs, batches that make up one update.
  run::TrainConfig config() const {
    run::TrainConfig c;
    c.data.prepared = prepared().string();
    c.model.encoder_layers = c.model.decoder_layers = 1;
    c.model.width = 16;
    c.model.inner = 32;
    c.model.heads = 2;
    c.model.max_positions = 32;
    c.batch.max_source = c.batch.max_target = 32;
    c.batch.max_tokens = 256;
    c.batch.update_frequency = 2;
    c.dropout = {.residual = 0.1, .attention = 0.1, .activation = 0.1};
    c.schedule.peak = 5e-3;
    c.schedule.warmup = 20;
    c.train.max_updates = 60;
    c.train.workers = 2;
    c.validate.every_epochs = 3;
    c.checkpoint.every_updates = 10;
    c.log.every_updates = 7;
    return c;
  }

  // The configuration as a recipe file.
  fs::path recipe(const run::TrainConfig& config) const {
    replace_file(path("recipe.toml"), to_toml(config));
    return path("recipe.toml");
  }

 private:
  void write(const std::string& name, uint64_t seed, int sentences) const {
    std::string forward, backward;
    for (int line = 0; line < sentences; ++line) {
      const Random random(seed, static_cast<uint64_t>(line));
      const auto words = 2 + random.below(0, 7);
      std::string reversed;
      for (uint64_t i = 1; i <= words; ++i) {
        const std::string word(1, static_cast<char>('a' + random.below(i, 12)));
        forward += word + (i == words ? "\n" : " ");
        reversed = word + (i == 1 ? "" : " ") + reversed;
      }
      backward += reversed + "\n";
    }
    replace_file(path(name + ".en"), forward);
    replace_file(path(name + ".de"), backward);
  }

  TemporaryDirectory directory_;
};

}  // namespace residual::test
