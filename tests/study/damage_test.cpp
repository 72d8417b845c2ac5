// One changed byte, or a lost end, in everything that commands read: it is refused, or changes
// nothing, and `residual verify` finds it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <iostream>
#include <set>

#include "base/checksum.h"
#include "base/error.h"
#include "base/random.h"
#include "decode/translator.h"
#include "model/export.h"
#include "run/checkpoint.h"
#include "run/corpora.h"
#include "run/verify.h"
#include "study/evaluate.h"
#include "study/verify.h"
#include "support/model_files.h"
#include "support/tiny_run.h"

namespace residual {
namespace {

constexpr uint64_t kPlaces = 1000;

// Files that are damaged in turn, what a user does with them, and what finds the damage.
struct Subject {
  std::vector<fs::path> files;
  std::function<std::string()> use;
  std::function<run::Verification()> verify;
};

class Damage : public testing::Test {
 protected:
  Damage() {
    Progress::set_quiet(true);
    log::set_level(log::Level::off);
  }
  ~Damage() override {
    Progress::set_quiet(false);
    log::set_level(log::Level::info);
  }

  // `change` gets a file's content, a place in it and a number for the choice of the change.
  using Change = std::function<void(std::string& content, uint64_t at, uint64_t choice)>;

  static void expect_refusal_or_no_effect(const Subject& subject, const Change& change) {
    std::vector<std::string> contents;
    uint64_t bytes = 0;
    for (const auto& file : subject.files) bytes += contents.emplace_back(read_file(file)).size();
    const std::string before = subject.use();
    ASSERT_TRUE(subject.verify().problems.empty()) << subject.verify().problems[0];
    ASSERT_TRUE(subject.verify().unchecked.empty()) << subject.verify().unchecked[0];
    const Random random(28, bytes);
    uint64_t refused = 0;
    for (uint64_t i = 0; i < kPlaces; ++i) {
      uint64_t at = random.below(2 * i, bytes);
      size_t f = 0;
      while (at >= contents[f].size()) at -= contents[f++].size();
      std::string content = contents[f];
      change(content, at, random.below(2 * i + 1, 255));
      write_in_place(subject.files[f], content);
      try {
        EXPECT_EQ(subject.use(), before) << subject.files[f] << ", byte " << at;
      } catch (const Error& error) {
        ++refused;
      }
      EXPECT_TRUE(is_found(subject)) << subject.files[f] << ", byte " << at;
      write_in_place(subject.files[f], contents[f]);
    }
    EXPECT_EQ(subject.use(), before);
    RecordProperty("refused", static_cast<int>(refused));
    std::cout << refused << " of " << kPlaces << " refused, the others changed nothing\n";
  }

  static void expect_no_silence(const Subject& subject) {
    expect_refusal_or_no_effect(subject, [](std::string& content, uint64_t at, uint64_t choice) {
      content[at] = static_cast<char>(content[at] ^ static_cast<char>(choice + 1));
    });
    expect_refusal_or_no_effect(
        subject, [](std::string& content, uint64_t at, uint64_t) { content.resize(at); });
  }

  test::TemporaryDirectory directory_;

 private:
  static void write_in_place(const fs::path& file, const std::string& content) {
    const int out = ::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    FileSystem::real().write(out, file, content);
    ::close(out);
  }
  static bool is_found(const Subject& subject) {
    try {
      return !subject.verify().problems.empty();
    } catch (const Error&) {
      return true;
    }
  }
};

std::vector<fs::path> files_in(const fs::path& directory) {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) files.insert(entry.path());
  return {files.begin(), files.end()};
}

// A model with BPE whose translations depend on every file.
void write_model(const fs::path& path) {
  model::Config config = model::test::small_config();
  config.source_vocabulary = config.target_vocabulary = 10;
  const fs::path text = path.string() + ".text";
  const model::Description description = model::test::small_description(text, config);
  replace_file(text / "vocabulary.txt", "ab@@ 3\na@@ 2\nb@@ 2\na 1\nb 1\nab 1\n");
  for (const char* language : {"en", "de"}) {
    text::Segmenter(
        {.language = language, .tokenizer = "moses", .subwords = "bpe", .model = "bpe.codes"},
        "#version: 0.2\na b\nab a\nb a</w>\na b</w>\nb b</w>\n")
        .save(text, language);
  }
  model::test::Weights weights(config);
  model::write_directory(path, description, weights.tensors(), text);
}

std::string translations(const fs::path& model) {
  decode::TranslatorOptions options;
  options.search.beam = 2;
  decode::Translator translator({model}, options);
  std::string all;
  for (const auto& t : translator.translate(std::vector<std::string>{"aba bb, ab", "b a"})) {
    all += fmt::format("{} {}\n", t.outputs[0].text, t.outputs[0].score);
  }
  return all;
}

TEST_F(Damage, OfAModelIsNoticed) {
  const fs::path model = directory_ / "model";
  write_model(model);
  expect_no_silence({.files = files_in(model),
                     .use = [&] { return translations(model); },
                     .verify = [&] { return run::verify(model); }});
}

TEST_F(Damage, OfCodesIsNoticed) {
  const fs::path model = directory_ / "model";
  write_model(model);
  expect_no_silence({.files = {model / "bpe.codes"},
                     .use = [&] { return translations(model); },
                     .verify = [&] { return run::verify(model); }});
}

TEST_F(Damage, OfAVocabularyIsNoticed) {
  const fs::path model = directory_ / "model";
  write_model(model);
  expect_no_silence({.files = {model / "vocabulary.txt"},
                     .use = [&] { return translations(model); },
                     .verify = [&] { return run::verify(model); }});
}

TEST_F(Damage, OfABundleIsNoticed) {
  const fs::path bundle = directory_ / "model.residual";
  write_model(directory_ / "model");
  const auto model = model::Directory::open(directory_ / "model");
  model::write_bundle(bundle, model.description(), model::stored_tensors(model).list, model);
  expect_no_silence({.files = {bundle},
                     .use = [&] { return translations(bundle); },
                     .verify = [&] { return run::verify(bundle); }});
}

std::string training_data(const run::TrainConfig& config) {
  const run::Corpora corpora(config);
  const run::TrainConfig full = corpora.with_vocabularies(config);
  data::Batcher batcher = corpora.batcher(full);
  Checksum sum;
  const auto add = [&](const data::Batch& batch) {
    for (const auto* ids : {&batch.source, &batch.target, &batch.source_offsets}) {
      sum.add({reinterpret_cast<const char*>(ids->data()), 4 * ids->size()});
    }
    sum.add(corpora.lines_of(batch));
  };
  for (int64_t b = 0; b < batcher.batches_in_epoch(1); ++b) add(batcher.get({1, b}));
  for (const auto& batch : corpora.dev_batches(full)) {
    sum.add({reinterpret_cast<const char*>(batch.source.data()), 4 * batch.source.size()});
  }
  for (const auto& [name, content] : corpora.text_files()) sum.add(name + content);
  sum.add(to_toml(corpora.description(full)));
  return to_hex(sum.value());
}

TEST_F(Damage, OfAPreparedCorpusIsNoticed) {
  const test::ReverseTask task(40);
  expect_no_silence({.files = files_in(task.prepared()),
                     .use = [&] { return training_data(task.config()); },
                     .verify = [&] { return run::verify(task.prepared()); }});
}

TEST_F(Damage, OfACorpusIsNoticed) {
  const test::ReverseTask task(40);
  const fs::path corpus = task.prepared() / "train.corpus";
  expect_no_silence({.files = {corpus},
                     .use = [&] { return training_data(task.config()); },
                     .verify = [&] { return run::verify(corpus); }});
}

TEST_F(Damage, OfACheckpointIsNoticed) {
  const model::Config config = model::test::small_config();
  const fs::path file = directory_ / "000000012.safetensors";
  run::Checkpoint checkpoint;
  checkpoint.values.assign(static_cast<size_t>(model::parameter_count(config)), 0.25F);
  checkpoint.m = checkpoint.v = checkpoint.values;
  checkpoint.state.update = 12;
  run::write_checkpoint(file, config, checkpoint);
  const auto use = [&] {
    const run::Checkpoint read = run::read_checkpoint(file, config);
    Checksum sum;
    for (const auto* numbers : {&read.values, &read.m, &read.v}) {
      sum.add({reinterpret_cast<const char*>(numbers->data()), 4 * numbers->size()});
    }
    return to_hex(sum.value()) + to_toml(read.state);
  };
  expect_no_silence({.files = {file}, .use = use, .verify = [&] { return run::verify(file); }});
}

TEST_F(Damage, OfAStudysResultIsNoticed) {
  const fs::path study = directory_ / "study", plan = study / "results" / "plan";
  fs::create_directories(plan);
  fs::create_directories(study / "runs");
  const std::string translated = "a b\nb a\n";
  replace_file(plan / "cell.test.txt", translated);
  study::Result result{.made_from = "0123", .corpus = "4567", .updates = 600, .seconds = 12.5};
  result.converged = true;
  result.dev_nll = 2.25;
  result.scores = {{"test", 27.5, to_hex(checksum(translated))}};
  study::write_result(plan / "cell.toml", result);
  const auto use = [&] {
    const auto read = study::read_result(plan / "cell.toml");
    for (const auto& score : read.scores) study::check_translations(plan / "cell", score);
    return to_toml(read) + read_file(plan / "cell.test.txt");
  };
  expect_no_silence(
      {.files = files_in(plan), .use = use, .verify = [&] { return study::verify(study); }});
}

}  // namespace
}  // namespace residual
