#include "decode/language/text_score.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <numbers>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "decode/score.h"

namespace residual::decode {
namespace {

using text::Vocabulary;

constexpr size_t kTokens = 2048;  // of the windows that go through the model together

uint64_t count_words(std::string_view text) {
  uint64_t words = 0;
  bool inside = false;
  for (const char c : text) {
    const bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
    words += static_cast<uint64_t>(!is_space && !inside);
    inside = !is_space;
  }
  return words;
}

// A part of a document: the first `seen` tokens were scored with the part before.
struct Window {
  size_t document;
  size_t seen;
};

}  // namespace

void TextScore::add(const TextScore& other) {
  documents += other.documents;
  tokens += other.tokens;
  words += other.words;
  bytes += other.bytes;
  unknown += other.unknown;
  log_probability += other.log_probability;
}

double TextScore::perplexity(uint64_t units) const {
  return std::exp(-log_probability / static_cast<double>(units));
}

double TextScore::bits_per_byte() const {
  return -log_probability / std::numbers::ln2 / static_cast<double>(bytes);
}

TextScorer::TextScorer(std::vector<std::shared_ptr<const Weights>> models, TextSide side,
                       const TextScoreOptions& options)
    : models_(std::move(models)), side_(std::move(side)) {
  int64_t positions = models_[0]->config().max_positions;
  for (const auto& model : models_) positions = std::min(positions, model->config().max_positions);
  window_ = options.window == 0 ? positions : options.window;
  context_ = options.context < 0 ? window_ / 2 : options.context;
  require(window_ >= 1 && window_ <= positions, "the window is {}; the model takes from 1 to {}",
          window_, positions);
  require(context_ < window_, "the context, {} tokens, leaves no room in a window of {}", context_,
          window_);
  for (const auto& model : models_) model->pack();
}

std::vector<TextScore> TextScorer::score(std::span<const std::string> documents,
                                         uint64_t first) const {
  TextCodec codec(side_);
  std::vector<TextScore> scores;
  std::vector<Pair> pairs;
  std::vector<Window> windows;
  for (const auto& document : documents) {
    std::vector<int32_t> ids = codec.ids(document, "document", first + scores.size());
    ids.push_back(Vocabulary::kEos);
    const auto size = static_cast<int64_t>(ids.size());
    for (int64_t begin = 0, seen = 0; begin + seen < size;) {
      const int64_t end = std::min(begin + window_, size);
      pairs.push_back({.source = {}, .target = {ids.begin() + begin, ids.begin() + end}});
      windows.push_back({scores.size(), static_cast<size_t>(seen)});
      seen = std::min(context_, end);
      begin = end - seen;
    }
    scores.push_back({.documents = 1,
                      .tokens = ids.size(),
                      .words = count_words(document),
                      .bytes = document.size(),
                      .unknown = static_cast<uint64_t>(std::ranges::count(ids, Vocabulary::kUnk))});
  }
  std::vector<size_t> groups = {0};  // where they begin
  size_t tokens = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (tokens > 0 && tokens + pairs[i].target.size() > kTokens) {
      groups.push_back(i);
      tokens = 0;
    }
    tokens += pairs[i].target.size();
  }
  groups.push_back(pairs.size());
  std::vector<double> sums(pairs.size());
  parallel_for(static_cast<int64_t>(groups.size()) - 1, 1, [&](int64_t group, int64_t) {
    std::vector<Engine> engines;
    for (const auto& model : models_) engines.emplace_back(model);
    const size_t begin = groups[group], end = groups[group + 1];
    const auto scored = decode::score(engines, std::span(pairs).subspan(begin, end - begin));
    for (size_t i = begin; i < end; ++i) {
      const auto& each = scored[i - begin];
      for (size_t t = windows[i].seen; t < each.size(); ++t) sums[i] += each[t];
    }
  });
  for (const auto& model : models_) model->check();
  for (size_t i = 0; i < pairs.size(); ++i) {
    scores[windows[i].document].log_probability += sums[i];
  }
  return scores;
}

}  // namespace residual::decode
