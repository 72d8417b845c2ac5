#include "text/segmenter.h"

#include <utility>
#include <vector>

#include "base/error.h"

namespace residual::text {
namespace {

std::string settings_file(const std::string& side) { return "segmentation." + side + ".toml"; }

// A shared function object as a LineTransform.
template <class Function>
LineTransform shared(std::shared_ptr<const Function> function) {
  return [function = std::move(function)](std::string_view line, std::string& out) {
    (*function)(line, out);
  };
}

void check(const SegmenterOptions& o) {
  require(o.tokenizer == "moses" || o.tokenizer == "none",
          "tokenizer: expected \"moses\" or \"none\", got \"{}\"", o.tokenizer);
  require(o.subwords == "bpe" || o.subwords == "sentencepiece" || o.subwords == "none",
          "subwords: expected \"bpe\", \"sentencepiece\" or \"none\", got \"{}\"", o.subwords);
  require(o.model.empty() || is_file_name(o.model),
          "model: expected the name of a file in the same directory, got \"{}\"", o.model);
}

}  // namespace

LineTransform chain(std::vector<LineTransform> steps) {
  if (steps.empty()) return [](std::string_view line, std::string& out) { out += line; };
  if (steps.size() == 1) return std::move(steps.front());
  return [steps = std::move(steps), from = std::string(), to = std::string()](
             std::string_view line, std::string& out) mutable {
    to.clear();
    steps.front()(line, to);
    for (size_t i = 1; i + 1 < steps.size(); ++i) {
      std::swap(from, to);
      to.clear();
      steps[i](from, to);
    }
    steps.back()(to, out);
  };
}

Segmenter::Segmenter(SegmenterOptions options, std::string model)
    : Segmenter(std::move(options), std::move(model), "sub-word model") {}

Segmenter::Segmenter(SegmenterOptions options, std::string model, const std::string& model_name)
    : options_(std::move(options)), model_(std::make_shared<const std::string>(std::move(model))) {
  check(options_);
  if (options_.normalize_punctuation) {
    normalizer_ = std::make_shared<PunctuationNormalizer>(options_.language);
  }
  if (options_.tokenizer == "moses") {
    tokenizer_ = std::make_shared<Tokenizer>(TokenizerOptions{.language = options_.language,
                                                              .aggressive = options_.aggressive,
                                                              .escape = options_.escape});
    detokenizer_ = std::make_shared<Detokenizer>(options_.language);
  }
  if (options_.subwords == "bpe") bpe_ = std::make_shared<Bpe>(*model_, model_name);
  if (options_.subwords == "sentencepiece") {
    sentence_piece_ = std::make_shared<SentencePiece>(*model_, model_name);
  }
}

Segmenter Segmenter::load(const fs::path& directory, const std::string& side) {
  return load([&](const std::string& name) { return read_file(directory / name); },
              directory.string(), side);
}

SegmenterOptions Segmenter::load_options(const ReadFile& read, const std::string& place,
                                         const std::string& side) {
  const fs::path file = fs::path(place) / settings_file(side);
  SegmenterOptions options;
  read_toml(read(settings_file(side)), file.string(),
            [&](ConfigVisitor& visit) { fields(visit, options); });
  try {
    check(options);
    require(options.subwords == "none" || !options.model.empty(),
            "model: expected the name of a file, got nothing");
  } catch (const Error& error) {
    fail("{}: {}", file.string(), error.what());
  }
  return options;
}

Segmenter Segmenter::load(const ReadFile& read, const std::string& place, const std::string& side) {
  SegmenterOptions options = load_options(read, place, side);
  if (options.subwords == "none") return Segmenter(std::move(options), "");
  std::string bytes = read(options.model);
  const fs::path model = fs::path(place) / options.model;
  return Segmenter(std::move(options), std::move(bytes), model.string());
}

void Segmenter::save(const fs::path& directory, const std::string& side) const {
  SegmenterOptions options = options_;
  if (options.subwords == "none") {
    options.model.clear();
  } else {
    if (options.model.empty()) {
      options.model = side + (options.subwords == "bpe" ? ".codes" : ".model");
    }
    replace_file(directory / options.model, *model_);
  }
  replace_file(directory / settings_file(side), to_toml(options));
}

LineTransform Segmenter::to_words() const {
  std::vector<LineTransform> steps;
  if (normalizer_) steps.push_back(shared(normalizer_));
  if (options_.remove_non_printing) steps.emplace_back(remove_non_printing);
  if (tokenizer_) steps.push_back(shared(tokenizer_));
  if (options_.lowercase) steps.emplace_back(lowercase);
  return chain(std::move(steps));
}

LineTransform Segmenter::words_to_pieces() const {
  if (bpe_) return bpe_transform(bpe_);
  if (!sentence_piece_) return chain({});
  return [model = sentence_piece_](std::string_view line, std::string& out) {
    model->encode(line, out);
  };
}

std::shared_ptr<const Bpe> Segmenter::bpe_with_dropout(double dropout, uint64_t seed) const {
  require(bpe_ != nullptr, "BPE-dropout needs subwords = \"bpe\"; text of {} has subwords = \"{}\"",
          options_.language, options_.subwords);
  BpeOptions options = bpe_->options();
  options.dropout = dropout;
  options.seed = seed;
  return std::make_shared<const Bpe>(*model_, "sub-word model", std::move(options));
}

LineTransform Segmenter::to_pieces() const { return chain({to_words(), words_to_pieces()}); }

namespace {

// A piece that the model does not know stays unchanged, with its mark for a blank. Translations may
// contain such pieces if source and target have separate models but one vocabulary.
void unmark(size_t begin, std::string& text) {
  constexpr std::string_view kMark = "\u2581";
  for (size_t at = begin; (at = text.find(kMark, at)) != std::string::npos;) {
    text.replace(at, kMark.size(), at == begin ? "" : " ");
  }
}

}  // namespace

LineTransform Segmenter::to_text() const {
  std::vector<LineTransform> steps;
  if (bpe_) {
    steps.emplace_back(
        [separator = bpe_->options().separator](std::string_view line, std::string& out) {
          undo_bpe(line, separator, out);
        });
  }
  if (sentence_piece_) {
    steps.emplace_back([model = sentence_piece_](std::string_view line, std::string& out) {
      const size_t begin = out.size();
      model->decode(line, out);
      unmark(begin, out);
    });
  }
  if (detokenizer_) steps.push_back(shared(detokenizer_));
  return chain(std::move(steps));
}

}  // namespace residual::text
