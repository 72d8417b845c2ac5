#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "decode/options.h"
#include "decode/rules/phrases.h"
#include "model/config.h"

namespace residual::decode {

// A sentence to translate, or a text to continue.
struct Request {
  uint64_t id = 0;              // given back with the result
  uint64_t caller = 0;          // who wants it: a Crew serves callers in turn
  std::vector<int32_t> source;  // ends in </s>; empty for a language model
  // Tokens that every translation begins with. For a language model, the text to continue:
  // hypotheses and their scores begin after it.
  std::vector<int32_t> prefix;
  // Symbols that it may consist of, ascending, </s> and the prefix's among them; empty: all. Their
  // probabilities sum to 1. Searches that must look at whole rows of logits (sampling, several
  // models, no_repeat_ngram, repetition_penalty, a negative unk_penalty, phrases) take no notice.
  std::vector<int32_t> symbols;
  // What every translation contains, unless even the longest is too short; null: nothing. Such a
  // search, too, looks at whole rows. Sampling takes no notice.
  std::shared_ptr<const Phrases> phrases;
  // Its own search instead of everybody's, except for attention_layer.
  std::shared_ptr<const SearchOptions> search;
  // Once true, nobody wants the result any more: it ends without one.
  std::shared_ptr<const std::atomic<bool>> unwanted;

  // Hears of each token as soon as no other hypothesis is left, from the thread that searches. A
  // beam, or several draws, may say nothing.
  std::function<void(int32_t token)> progress;

  bool is_text() const { return source.empty(); }  // of a language model
  // Tokens that are read before the first one is searched for.
  int64_t read_tokens() const {
    return static_cast<int64_t>(is_text() ? prefix.size() : source.size());
  }
  bool is_unwanted() const { return unwanted && *unwanted; }
};

// Fails unless a model of this configuration can translate it: no side is too long, the source is
// not empty, all ids exist, its search is one.
void check_request(const Request& request, const model::Config& config);

}  // namespace residual::decode
