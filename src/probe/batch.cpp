// The choice of the sentences that a model is probed on.

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "probe/subject.h"
#include "run/corpora.h"
#include "text/lines.h"
#include "train/learner.h"

namespace residual::probe {
namespace {

// Lengths of random sentences, </s> included.
constexpr uint64_t kShortest = 8, kLongest = 32;

struct Ids {
  std::vector<int32_t> ids, offsets = {0};

  void end_sentence() { offsets.push_back(static_cast<int32_t>(ids.size())); }
  int64_t size() const { return static_cast<int64_t>(ids.size()); }
};

data::Batch pair_up(Ids source, Ids target) {
  data::Batch batch{.source = std::move(source.ids),
                    .target = std::move(target.ids),
                    .source_offsets = std::move(source.offsets),
                    .target_offsets = std::move(target.offsets)};
  for (size_t i = 0; i + 1 < batch.source_offsets.size(); ++i) {
    batch.pairs.push_back(static_cast<int64_t>(i));
  }
  return batch;
}

// Sentences of uniformly random symbols and lengths, both sides with the same lengths.
data::Batch random_pairs(const model::Config& config, const SubjectOptions& options) {
  const auto longest = std::min<uint64_t>(kLongest, static_cast<uint64_t>(config.max_positions));
  const auto shortest = std::min(kShortest, longest);
  const auto seed = static_cast<uint64_t>(options.seed.value_or(1));
  const Random lengths(seed, 0);
  Ids source, target;
  for (uint64_t s = 0;; ++s) {
    const uint64_t length = shortest + lengths.below(s, longest - shortest + 1);
    if (s > 0 && source.size() + static_cast<int64_t>(length) > options.tokens) break;
    for (const auto& [side, symbols, stream] : {std::tuple{&source, config.source_vocabulary, 1},
                                                {&target, config.target_vocabulary, 2}}) {
      const Random draw(seed, static_cast<uint64_t>(stream));
      const auto others = static_cast<uint64_t>(symbols - text::Vocabulary::kSpecials);
      for (uint64_t i = 0; i + 1 < length; ++i) {
        side->ids.push_back(text::Vocabulary::kSpecials +
                            static_cast<int32_t>(draw.below(side->ids.size(), others)));
      }
      side->ids.push_back(text::Vocabulary::kEos);
      side->end_sentence();
    }
  }
  return pair_up(std::move(source), std::move(target));
}

// Converts raw lines to ids, tag first, up to the limit of tokens.
class Encoder {
 public:
  // Throws an Error unless the vocabulary has as many symbols as the model's table.
  Encoder(const TextFiles& files, const std::string& language, const std::string& vocabulary,
          int64_t symbols, const std::string& tag)
      : to_pieces_(text::Segmenter::load(files.read, files.place.string(), language).to_pieces()),
        vocabulary_(files.vocabulary(vocabulary)),
        tag_(tag) {
    require(vocabulary_.size() == symbols, "{}: has {} symbols, the model has {}",
            (files.place / vocabulary).string(), vocabulary_.size(), symbols);
  }

  std::vector<int32_t> operator()(const std::string& line) const {
    std::string pieces;
    to_pieces_(line, pieces);
    std::vector<int32_t> ids;
    if (!tag_.empty()) ids.push_back(vocabulary_.id(tag_));
    vocabulary_.encode(pieces, ids);
    return ids;
  }

 private:
  text::LineTransform to_pieces_;
  text::Vocabulary vocabulary_;
  std::string tag_;
};

// Finds the only direction with these languages; either may be empty.
const model::Direction& direction_of(const Subject& subject, const SubjectOptions& options) {
  const model::Direction* found = nullptr;
  for (const auto& d : subject.text.description.directions) {
    const bool fits = (options.from.empty() || d.source == options.from) &&
                      (options.to.empty() || d.target == options.to);
    if (!fits) continue;
    require(found == nullptr, "{}: has several languages; choose with --from and --to",
            subject.label);
    found = &d;
  }
  require(found != nullptr, "{}: does not translate from \"{}\" to \"{}\"", subject.label,
          options.from, options.to);
  return *found;
}

data::Batch text_pairs(const Subject& subject, const SubjectOptions& options) {
  const bool translation = subject.config.model.kind == model::Kind::translation;
  require(!translation || !options.translation.empty(),
          "{}: a translation model is probed on sentences and their translations; give the "
          "translations with --translation FILE",
          subject.label);
  const model::Description& d = subject.text.description;
  const auto& direction = direction_of(subject, options);
  const model::Config& c = subject.config.model;
  const Encoder encode_source(subject.text, direction.source, d.source_vocabulary,
                              c.source_vocabulary, direction.source_tag);
  const Encoder encode_target(subject.text, direction.target, d.target_vocabulary,
                              c.target_vocabulary, "");
  text::LineCursor source_lines(options.text);
  text::LineCursor target_lines(translation ? options.translation : options.text);
  const int64_t positions = subject.config.model.max_positions;
  bool too_long = false;
  Ids source, target;
  const auto fits = [&](const Ids& side, const std::vector<int32_t>& more) {
    return side.size() + static_cast<int64_t>(more.size()) <= options.tokens;
  };
  while (const auto line = source_lines.next()) {
    const auto other = target_lines.next();
    require(other.has_value(), "{}: has fewer lines than {}", target_lines.name(),
            source_lines.name());
    const auto s = encode_source(*line), t = encode_target(*other);
    if (static_cast<int64_t>(std::max(s.size(), t.size())) > positions) {
      too_long = true;
      continue;
    }
    if (source.size() > 0 && (!fits(source, s) || !fits(target, t))) break;
    source.ids.insert(source.ids.end(), s.begin(), s.end());
    target.ids.insert(target.ids.end(), t.begin(), t.end());
    source.end_sentence();
    target.end_sentence();
  }
  require(source.size() > 0, "{}: has no sentence{}", source_lines.name(),
          too_long ? fmt::format(" of at most {} tokens, the model's positions", positions) : "");
  return pair_up(std::move(source), std::move(target));
}

data::Batch corpus_pairs(const run::TrainConfig& config, const SubjectOptions& options) {
  run::TrainConfig limited = config;
  limited.batch.max_tokens = options.tokens;
  limited.batch.pass_tokens = 0;  // one pass takes them all
  const run::Corpora corpora(limited);
  const auto dev = corpora.dev_batches(limited);
  require(!dev.empty(), "{}: has no dev corpus to probe on", config.data.prepared);
  return dev.front();
}

std::pair<data::Batch, std::string> pairs_for(const Subject& subject,
                                              const SubjectOptions& options) {
  const run::TrainConfig& config = subject.config;
  if (!options.text.empty()) return {text_pairs(subject, options), options.text.string()};
  if (!config.data.prepared.empty() && fs::exists(config.data.prepared)) {
    return {corpus_pairs(config, options), config.data.prepared + " (dev)"};
  }
  if (!subject.initial) {
    log::warn("{}: a trained model is probed on random tokens; give --text or --data",
              subject.label);
  }
  return {random_pairs(config.model, options), "random tokens"};
}

}  // namespace

ProbeBatch make_batch(const Subject& subject, const SubjectOptions& options) {
  const auto [pairs, origin] = pairs_for(subject, options);
  const nn::Pass pass{.seed = static_cast<uint64_t>(options.seed.value_or(1))};
  ProbeBatch made{train::model_batch(subject.config, pairs, pass, at::kCPU), {}};
  made.origin = fmt::format("{} sentences, {} tokens to predict, {}", pairs.size(),
                            made.batch.predictions(), origin);
  return made;
}

}  // namespace residual::probe
