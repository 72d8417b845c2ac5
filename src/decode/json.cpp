#include "decode/json.h"

#include <cmath>

namespace residual::decode {

using nlohmann::ordered_json;

ordered_json to_json(const Translation& translation, bool with_attention) {
  ordered_json all = ordered_json::array();
  for (const Output& output : translation.outputs) {
    ordered_json one = {{"text", output.text},
                        {"score", rounded(output.score)},
                        {"log_probability", rounded(output.log_probability())},
                        {"pieces", output.pieces},
                        {"log_probabilities", rounded(output.log_probabilities)}};
    if (with_attention) one["attention"] = ordered_json::array();
    for (const auto& row : output.attention) one["attention"].push_back(rounded(row));
    all.push_back(std::move(one));
  }
  return {{"source_pieces", translation.source_pieces}, {"translations", std::move(all)}};
}

ordered_json to_json(const SearchOptions& o) {
  constexpr const char* kStops[] = {"full", "bound", "first"};
  return {{"beam", o.beam},
          {"n_best", o.n_best},
          {"length_penalty", o.length_penalty},
          {"word_penalty", o.word_penalty},
          {"min_length", o.min_length},
          {"max_length_factor", o.max_length_factor},
          {"max_length_offset", o.max_length_offset},
          {"stop", kStops[static_cast<size_t>(o.stop)]},
          {"diverse_groups", o.diverse_groups},
          {"diverse_strength", o.diverse_strength},
          {"alternatives", o.alternatives},
          {"no_repeat_ngram", o.no_repeat_ngram},
          {"repetition_penalty", o.repetition_penalty},
          {"coverage_penalty", o.coverage_penalty},
          {"unk_penalty", o.unk_penalty},
          {"forbid_unk", o.forbid_unk},
          {"replace_unk", o.replace_unk},
          {"sampling",
           {{"is_on", o.sampling.is_on},
            {"top_k", o.sampling.top_k},
            {"top_p", o.sampling.top_p},
            {"temperature", o.sampling.temperature},
            {"seed", o.sampling.seed}}},
          {"with_attention", o.with_attention},
          {"attention_layer", o.attention_layer}};
}

double rounded(double x) { return std::round(x * 1e6) / 1e6; }

ordered_json rounded(const std::vector<float>& values) {
  auto out = ordered_json::array();
  for (const float x : values) out.push_back(rounded(static_cast<double>(x)));
  return out;
}

std::string dump(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace residual::decode
