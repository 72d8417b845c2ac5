#include "decode/ensemble.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/vocabulary.h"

namespace residual::decode {
namespace {

// Rows whose logits are made together, each time with all of the vocabulary's weights. Logits of
// all rows of a step would take the most memory of all.
constexpr int kLogitRows = 96, kSummaryRows = 192;

template <class T>
void grow(std::vector<T>& buffer, int64_t size) {
  if (static_cast<int64_t>(buffer.size()) < size) buffer.resize(static_cast<size_t>(size));
}

}  // namespace

Ensemble::Ensemble(const std::vector<std::shared_ptr<const Weights>>& models) {
  require(!models.empty(), "no model is given");
  const model::Config& first = models[0]->config();
  max_positions_ = first.max_positions;
  decoder_layers_ = first.decoder_layers;
  for (const auto& model : models) {
    const model::Config& config = model->config();
    const bool is_alike = config.source_vocabulary == first.source_vocabulary &&
                          config.target_vocabulary == first.target_vocabulary;
    require(is_alike,
            "models that decide together must share their vocabularies; they have {} and {} source "
            "symbols, {} and {} target symbols",
            first.source_vocabulary, config.source_vocabulary, first.target_vocabulary,
            config.target_vocabulary);
    require(config.form == first.form, "models of different forms cannot decide together");
    max_positions_ = std::min(max_positions_, config.max_positions);
    decoder_layers_ = std::min(decoder_layers_, config.decoder_layers);
    engines_.emplace_back(model);
  }
}

std::vector<std::vector<Memory>> Ensemble::encode(std::span<const std::span<const int32_t>> sources,
                                                  Team* team) {
  std::vector<std::vector<Memory>> memories(sources.size());
  for (auto& engine : engines_) {
    const std::vector<Memory> encoded = engine.encode(sources, team);
    for (size_t s = 0; s < sources.size(); ++s) memories[s].push_back(encoded[s]);
  }
  return memories;
}

void Ensemble::step(Step step, std::span<const Sentence> sentences, int attention_from_top,
                    const Listener& listener, Team* team) {
  decode(step, sentences, attention_from_top, team);
  first_row_ = 0;
  for (size_t first = 0, end = 0; first < sentences.size(); first = end) {
    const Query& query = sentences[first].query;
    const bool is_whole = query.best == 0;
    int rows = 0;
    const auto goes_along = [&](const Sentence& s) {  // with the first
      return !query.output && !s.query.output && (s.query.best == 0) == is_whole &&
             rows + s.rows <= (is_whole ? kLogitRows : kSummaryRows);
    };
    do {
      rows += sentences[end++].rows;
    } while (end < sentences.size() && goes_along(sentences[end]));
    if (is_whole) {
      const auto change = [&](float* logits) {
        for (size_t i = first; i < end; ++i) {
          for (int n = 0; n < sentences[i].rows; ++n, logits += vocabulary()) {
            listener.change(i, n, logits);
          }
        }
      };
      project(rows, change, team);
    } else {
      summarise(sentences.subspan(first, end - first), team);
    }
    for (size_t i = first; i < end; ++i) listener.answered(i);
    first_row_ += rows;
  }
}

void Ensemble::decode(Step& step, std::span<const Sentence> sentences, int attention_from_top,
                      Team* team) {
  const auto rows = static_cast<int64_t>(step.tokens.size());
  hidden_.clear();
  attention_stride_ = 0;
  if (attention_from_top >= 0) {
    for (const auto& sentence : sentences) {
      const int64_t positions = sentence.memories->at(0).positions();
      attention_stride_ = std::max(attention_stride_, positions);
    }
    grow(attention_, rows * attention_stride_);
    grow(other_attention_, rows * attention_stride_);
    step.attention_stride = attention_stride_;
  }
  for (size_t m = 0; m < engines_.size(); ++m) {
    if (attention_from_top >= 0) {
      const auto layers = static_cast<int>(engines_[m].weights().config().decoder_layers);
      step.attention = (m == 0 ? attention_ : other_attention_).data();
      step.attention_layer = layers - 1 - attention_from_top;
    }
    groups_.clear();
    for (const auto& sentence : sentences) {
      groups_.push_back({&(*sentence.memories)[m], sentence.rows});
    }
    step.sentences = groups_;
    hidden_.push_back(engines_[m].decode(step, team));
    if (m > 0 && attention_from_top >= 0) average_attention(m, rows);
  }
}

// Takes the m-th model's attention into the mean of models 0 ... m.
void Ensemble::average_attention(size_t m, int64_t rows) {
  const float share = 1 / static_cast<float>(m + 1);
  for (int64_t i = 0; i < rows * attention_stride_; ++i) {
    attention_[i] = (1 - share) * attention_[i] + share * other_attention_[i];
  }
}

void Ensemble::project(int64_t count, const Change& change, Team* team) {
  grow(logits_, count * vocabulary());
  engines_[0].project(hidden_[0], first_row_, count, logits_.data(), team);
  change(logits_.data());
  if (engines_.size() == 1) return;
  kernels::log_softmax(logits_.data(), count, vocabulary(), logits_.data());
  grow(other_logits_, count * vocabulary());
  for (size_t m = 1; m < engines_.size(); ++m) {
    engines_[m].project(hidden_[m], first_row_, count, other_logits_.data(), team);
    change(other_logits_.data());
    kernels::log_softmax(other_logits_.data(), count, vocabulary(), other_logits_.data());
    kernels::mix(1 / static_cast<float>(m + 1), other_logits_.data(), count * vocabulary(),
                 logits_.data());
  }
}

void Ensemble::summarise(std::span<const Sentence> sentences, Team* team) {
  int64_t room = 0;
  for (const auto& s : sentences) room += s.rows * s.query.best;
  grow(best_, room);
  summaries_.clear();
  kernels::Scored* best = best_.data();
  for (const auto& s : sentences) {
    for (int n = 0; n < s.rows; ++n, best += s.query.best) {
      summaries_.push_back(
          {.k = static_cast<int>(s.query.best), .best = best, .asked = {.index = s.query.asked}});
    }
  }
  const Query& query = sentences[0].query;
  if (query.output == nullptr)
    return engines_[0].summarise(hidden_[0], first_row_, summaries_, team);
  // The matrix knows symbols by their places among the query's.
  const auto at = std::ranges::lower_bound(query.symbols, query.asked) - query.symbols.begin();
  for (auto& row : summaries_) row.asked.index = static_cast<int32_t>(at);
  engines_[0].summarise(*query.output, hidden_[0], first_row_, summaries_, team);
  for (auto& row : summaries_) {
    row.asked.index = query.asked;
    for (auto& each : std::span(row.best, row.found)) each.index = query.symbols[each.index];
  }
}

}  // namespace residual::decode
