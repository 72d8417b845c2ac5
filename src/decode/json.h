#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decode/translator.h"

// Translations as JSON, for whoever gives them to other programs.
namespace residual::decode {

// {"source_pieces": [...], "translations": [{"text": ..., "score": ..., ...}, ...]}, with the
// attention of each if it was wanted, and "warnings" of those that raise doubts.
nlohmann::ordered_json to_json(const Translation& translation, bool with_attention);

// By the names of the settings.
nlohmann::ordered_json to_json(const SearchOptions& options);

// To six decimals, which is what float32 sums are good for.
double rounded(double x);
nlohmann::ordered_json rounded(const std::vector<float>& values);

// Without line breaks. Bytes that are not UTF-8 become U+FFFD.
std::string dump(const nlohmann::ordered_json& json);

}  // namespace residual::decode
