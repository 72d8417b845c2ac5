#include "decode/json.h"

#include <cmath>

#include "base/config_json.h"

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
    if (output.doubts.any()) one["warnings"] = output.doubts.names();
    if (with_attention) one["attention"] = ordered_json::array();
    for (const auto& row : output.attention) one["attention"].push_back(rounded(row));
    all.push_back(std::move(one));
  }
  return {{"source_pieces", translation.source_pieces}, {"translations", std::move(all)}};
}

ordered_json to_json(const SearchOptions& options) { return write_json(options); }

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
