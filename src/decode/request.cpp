#include "decode/request.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "text/vocabulary.h"

namespace residual::decode {
namespace {

constexpr int32_t kEos = text::Vocabulary::kEos;

void check_ids(const std::vector<int32_t>& ids, int64_t vocabulary, const char* side) {
  for (const int32_t id : ids) {
    require(id >= 0 && id < vocabulary, "{} id {} is not in the vocabulary of {}", side, id,
            vocabulary);
  }
}

void check_phrases(const Request& request, const model::Config& config) {
  if (!request.phrases) return;
  for (const auto& phrase : request.phrases->phrases()) {
    check_ids(phrase, config.target_vocabulary, "target");
    require(std::ranges::all_of(phrase, [](int32_t id) { return id > text::Vocabulary::kUnk; }),
            "a phrase that a translation must contain has a symbol that stands for no text");
  }
  const int64_t tokens = request.phrases->tokens() + static_cast<int64_t>(request.prefix.size());
  require(tokens < config.max_positions,
          "prefix and phrases of a translation have {} tokens, the model takes up to {}", tokens,
          config.max_positions - 1);
}

void check_symbols(const Request& request, int64_t vocabulary) {
  const auto& symbols = request.symbols;
  if (symbols.empty()) return;
  check_ids(symbols, vocabulary, "target");
  require(std::ranges::adjacent_find(symbols, std::greater_equal<>()) == symbols.end(),
          "the symbols of a translation are not in ascending order");
  const auto has = [&](int32_t id) { return std::ranges::binary_search(symbols, id); };
  require(has(kEos) && std::ranges::all_of(request.prefix, has),
          "</s> or a prefix is not among the symbols that a translation may consist of");
}

}  // namespace

void check_request(const Request& request, const model::Config& config) {
  const auto length = static_cast<int64_t>(request.source.size());
  if (config.has_encoder()) {
    require(length > 0 && length <= config.max_positions,
            "a source has {} tokens, the model takes from 1 to {}", length, config.max_positions);
  } else {
    require(length == 0, "a language model takes no source");
  }
  require(static_cast<int64_t>(request.prefix.size()) < config.max_positions,
          "a prefix has {} tokens, the model takes up to {}", request.prefix.size(),
          config.max_positions - 1);
  require(std::ranges::count(request.prefix, kEos) == 0, "a prefix must not contain </s>");
  check_ids(request.source, config.source_vocabulary, "source");
  check_ids(request.prefix, config.target_vocabulary, "prefix");
  check_symbols(request, config.target_vocabulary);
  check_phrases(request, config);
  if (request.search) check(*request.search);
}

}  // namespace residual::decode
