#include "run/corpora.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "text/segmenter.h"
#include "text/vocabulary.h"

namespace residual::run {

Corpora::Corpora(const TrainConfig& config)
    : directory_(config.data.prepared), manifest_(data::load_manifest(directory_)) {
  require(manifest_.recipe.language.empty() || config.model.kind != model::Kind::translation,
          "{}: is running text of {}, which trains no translation; set model.kind to \"language\" "
          "or \"masked\"",
          directory_.string(), manifest_.recipe.language);
  const auto first = std::ranges::find(manifest_.corpora, "train", &data::PreparedCorpus::split);
  require(first != manifest_.corpora.end(), "{}: has no training corpus", directory_.string());
  const data::PreparedVocabulary* source = &data::vocabulary_of(manifest_, first->source);
  const data::PreparedVocabulary* target = &data::vocabulary_of(manifest_, first->target);
  if (config.model.kind != model::Kind::translation) {
    (config.data.side == TextSide::source ? target : source) =
        config.data.side == TextSide::source ? source : target;
  }
  source_vocabulary_ = source->file;
  target_vocabulary_ = target->file;
  source_symbols_ = source->symbols;
  target_symbols_ = target->symbols;
  train_ = open("train");
  dev_ = open("dev");
  for (const auto* vocabulary : {source, target}) data::check_symbols(*vocabulary, directory_);
  for (const auto* entries : {&train_, &dev_}) {
    for (const auto& entry : *entries) check_ids(entry, config);
  }
  read_text();
  check_sums();
}

// A flipped bit in the ids would train another model. All of the file is read before the first
// update, at the speed of the disk or of memory.
void Corpora::check_sums() const {
  constexpr uint64_t kMegabyte = 1'000'000;
  uint64_t all = 0;
  for (const auto* entries : {&train_, &dev_}) {
    for (const auto& entry : *entries) all += fs::file_size(entry.corpus->path());
  }
  Progress progress("checking the corpus", all / kMegabyte, "MB");
  uint64_t read = 0;
  for (const auto* entries : {&train_, &dev_}) {
    for (const auto& entry : *entries) {
      entry.corpus->check_sums([&](uint64_t bytes) {
        const uint64_t before = std::exchange(read, read + bytes);
        progress.add(read / kMegabyte - before / kMegabyte);
      });
    }
  }
}

std::vector<Corpora::Entry> Corpora::open(const std::string& split) const {
  const auto vocabulary = text::Vocabulary::load(directory_ / source_vocabulary_);
  std::vector<Entry> opened;
  for (const auto& prepared : manifest_.corpora) {
    if (prepared.split != split) continue;
    Entry entry{prepared,
                std::make_unique<data::Corpus>(data::Corpus::open(directory_ / prepared.file)),
                {}};
    const auto hash = [&](const std::string& language) {
      return checksum(read_file(directory_ / data::vocabulary_of(manifest_, language).file));
    };
    entry.corpus->require_vocabularies(hash(prepared.source), hash(prepared.target));
    if (!prepared.source_tag.empty()) {
      const int32_t id = vocabulary.id(prepared.source_tag);
      require(id != text::Vocabulary::kUnk, "{}: has no symbol {}, which {} needs",
              (directory_ / source_vocabulary_).string(), prepared.source_tag, prepared.file);
      entry.source_prefix.push_back(id);
    }
    opened.push_back(std::move(entry));
  }
  return opened;
}

// The embedding tables have the symbols of the first corpus, and no later code checks an id before
// using it as an index. A side that the model does not read may have other symbols.
void Corpora::check_ids(const Entry& entry, const TrainConfig& config) const {
  const data::CorpusFooter& footer = entry.corpus->footer();
  const auto check = [&](TextSide side, const char* name, uint32_t limit, int64_t symbols) {
    if (config.model.kind != model::Kind::translation && config.data.side != side) return;
    require(limit <= symbols, "{}: has {} ids up to {}, but the model's vocabulary has {} symbols",
            entry.corpus->path().string(), name, int64_t{limit} - 1, symbols);
  };
  check(TextSide::source, "source", footer.source_id_limit, source_symbols_);
  check(TextSide::target, "target", footer.target_id_limit, target_symbols_);
}

void Corpora::read_text() {
  const auto read = [this](const std::string& file) {
    return text_[file] = data::read_listed(manifest_, directory_, file);
  };
  std::set<std::string> languages;
  for (const auto* entries : {&train_, &dev_}) {
    for (const auto& entry : *entries) {
      languages.insert({entry.prepared.source, entry.prepared.target});
    }
  }
  std::set<std::string> files = {source_vocabulary_, target_vocabulary_};
  for (const auto& language : languages) {
    const auto options = text::Segmenter::load_options(read, directory_.string(), language);
    if (options.subwords != "none") files.insert(options.model);
  }
  for (const auto& file : files) read(file);
}

text::Vocabulary Corpora::vocabulary(const std::string& file) const {
  return text::Vocabulary::parse(text_.at(file), (directory_ / file).string());
}

text::Segmenter Corpora::segmenter(const std::string& language) const {
  return text::Segmenter::load([this](const std::string& file) { return text_.at(file); },
                               directory_.string(), language);
}

TrainConfig Corpora::with_vocabularies(TrainConfig config) const {
  const auto set = [&](int64_t& size, int64_t symbols, const char* key) {
    require(size == 0 || size == symbols, "model.{}: is {}, but {} has {} symbols", key, size,
            directory_.string(), symbols);
    size = symbols;
  };
  set(config.model.source_vocabulary, source_symbols_, "source_vocabulary");
  set(config.model.target_vocabulary, target_symbols_, "target_vocabulary");
  model::check(config.model);
  require(config.model.sharing != model::Sharing::all || source_vocabulary_ == target_vocabulary_,
          "model.sharing: \"all\" needs one vocabulary, {} has {} and {}. Prepare the corpus with "
          "vocabulary.joined = true, or set model.sharing = \"target\"",
          directory_.string(), source_vocabulary_, target_vocabulary_);
  return config;
}

std::shared_ptr<data::SubwordDropout> Corpora::subword_dropout(const TrainConfig& config,
                                                               const std::string& language) const {
  if (config.dropout.subwords == 0) return nullptr;
  try {
    const auto& file = data::vocabulary_of(manifest_, language).file;
    return std::make_shared<data::SubwordDropout>(
        segmenter(language).bpe_with_dropout(config.dropout.subwords,
                                             static_cast<uint64_t>(config.train.seed)),
        std::make_shared<const text::Vocabulary>(vocabulary(file)));
  } catch (const Error& error) {
    fail("dropout.subwords: {}", error.what());
  }
}

data::Batcher Corpora::batcher(const TrainConfig& config) const {
  std::map<std::string, std::shared_ptr<data::SubwordDropout>> dropouts;
  const auto dropout_of = [&](const std::string& language) {
    const auto [at, is_new] = dropouts.try_emplace(language);
    if (is_new) at->second = subword_dropout(config, language);
    return at->second;
  };
  std::vector<data::BatchInput> inputs;
  for (const auto& entry : train_) {
    inputs.push_back({.corpus = entry.corpus.get(),
                      .source_prefix = entry.source_prefix,
                      .source_dropout = dropout_of(entry.prepared.source),
                      .target_dropout = dropout_of(entry.prepared.target)});
  }
  return {std::move(inputs), batch_options(config.batch)};
}

std::vector<data::Batch> Corpora::dev_batches(const TrainConfig& config) const {
  std::vector<data::Batch> batches;
  const BatchConfig& b = config.batch;
  const auto limit =
      static_cast<size_t>(b.pass_tokens > 0 ? std::min(b.max_tokens, b.pass_tokens) : b.max_tokens);
  const int64_t positions = config.model.max_positions;
  for (size_t c = 0; c < dev_.size(); ++c) {
    const Entry& entry = dev_[c];
    const auto prefix = static_cast<int64_t>(entry.source_prefix.size());
    int64_t skipped = 0;
    bool fresh = true;
    for (int64_t pair = 0; pair < entry.corpus->size(); ++pair) {
      auto lengths = entry.corpus->lengths(pair);
      lengths.source += prefix;
      if (lengths.source > positions || lengths.target > positions) {
        ++skipped;
        continue;
      }
      const auto full = [&](const std::vector<int32_t>& side, int64_t more) {
        return side.size() + static_cast<size_t>(more) > limit;
      };
      if (fresh || full(batches.back().source, lengths.source) ||
          full(batches.back().target, lengths.target)) {
        batches.push_back(
            {.source_offsets = {0}, .target_offsets = {0}, .corpus = static_cast<int>(c)});
        fresh = false;
      }
      data::Batch& batch = batches.back();
      batch.source.insert(batch.source.end(), entry.source_prefix.begin(),
                          entry.source_prefix.end());
      entry.corpus->append(pair, batch.source, batch.target);
      batch.source_offsets.push_back(static_cast<int32_t>(batch.source.size()));
      batch.target_offsets.push_back(static_cast<int32_t>(batch.target.size()));
      batch.pairs.push_back(pair);
    }
    if (skipped > 0) {
      log::warn(
          "{}: {} of {} pairs have more than model.max_positions = {} tokens and are not "
          "validated on",
          entry.prepared.file, skipped, entry.corpus->size(), positions);
    }
  }
  return batches;
}

std::vector<data::PreparedCorpus> Corpora::dev() const {
  std::vector<data::PreparedCorpus> all;
  for (const auto& entry : dev_) all.push_back(entry.prepared);
  return all;
}

void Corpora::require_dev_text() const {
  for (const auto& [prepared, corpus, prefix] : dev_) {
    require(fs::is_regular_file(directory_ / prepared.source_text) &&
                fs::is_regular_file(directory_ / prepared.target_text),
            "{}: has no raw text of {}, which BLEU needs; run `residual prepare` again",
            directory_.string(), prepared.file);
    for (const auto& file : {prepared.source_text, prepared.target_text}) {
      data::check_listed(manifest_, directory_, file);
    }
  }
}

std::string Corpora::lines_of(const data::Batch& batch, size_t most) const {
  const Entry& entry = train_[static_cast<size_t>(batch.corpus)];
  std::vector<uint64_t> lines;
  for (const int64_t pair : batch.pairs) lines.push_back(entry.corpus->line(pair));
  std::ranges::sort(lines);
  const size_t more = lines.size() - std::min(most, lines.size());
  lines.resize(lines.size() - more);
  return fmt::format("{} {}-{}: lines {}{}", entry.prepared.split, entry.prepared.source,
                     entry.prepared.target, fmt::join(lines, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

std::string Corpora::fingerprint(const std::vector<Entry>& entries) {
  Checksum sum;
  for (const auto& entry : entries) {
    // The header includes the checksums of the file's whole content.
    const auto& footer = entry.corpus->footer();
    sum.add({reinterpret_cast<const char*>(&footer), sizeof(footer)});
    sum.add(entry.prepared.source_tag + "\n");
  }
  return to_hex(sum.value());
}

void Corpora::require_those_of(const State& state, const fs::path& path) const {
  // Checkpoints of older versions do not name their corpora.
  require(state.corpus.empty() || state.corpus == fingerprint(),
          "{}: is not the corpus that {} was trained on; resume with that corpus, or start a new "
          "run with "
          "another --output",
          directory_.string(), path.string());
  require(state.dev_corpus.empty() || state.dev_corpus == dev_fingerprint(),
          "{}: its dev corpus is not the one that {} was validated on; resume with that corpus, or "
          "start a new run with another --output",
          directory_.string(), path.string());
}

model::Description Corpora::description(const TrainConfig& config) const {
  model::Description made;
  made.origin = config.description.empty() ? "residual train" : config.description;
  made.source_vocabulary = source_vocabulary_;
  made.target_vocabulary = target_vocabulary_;
  made.model = config.model;
  for (const auto& [prepared, corpus, prefix] : train_) {
    const bool is_translation = config.model.kind == model::Kind::translation;
    const std::string& own =
        config.data.side == TextSide::source ? prepared.source : prepared.target;
    const model::Direction direction =
        is_translation ? model::Direction{prepared.source, prepared.target, prepared.source_tag}
                       : model::Direction{own, own, ""};
    const bool is_known =
        !is_translation && std::ranges::count(made.directions, own, &model::Direction::target) > 0;
    if (!is_known) made.directions.push_back(direction);
  }
  return made;
}

}  // namespace residual::run
