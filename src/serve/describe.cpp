#include "serve/describe.h"

#include <nlohmann/json.hpp>

#include <string_view>

#include "base/config_json.h"
#include "base/version.h"
#include "decode/json.h"
#include "serve/request.h"

namespace residual::serve {

extern const std::string_view openapi_json;  // web/serve/

using nlohmann::ordered_json;

std::string describe(const decode::Translator& translator) {
  const model::Config& config = translator.config();
  ordered_json about = {{"residual", version()},
                        {"scheme", config.residual.name},
                        {"encoder_layers", config.encoder_layers},
                        {"decoder_layers", config.decoder_layers},
                        {"width", config.width},
                        {"source_vocabulary", config.source_vocabulary},
                        {"target_vocabulary", config.target_vocabulary},
                        {"max_positions", config.max_positions},
                        {"directions", ordered_json::array()}};
  if (translator.tools().model) {
    for (const auto& d : translator.tools().model->description().directions) {
      about["directions"].push_back({{"from", d.source}, {"to", d.target}});
    }
  }
  const decode::TranslatorOptions& own = translator.options();
  about["from"] = own.source;
  about["to"] = own.target;
  about["search"] = decode::to_json(own.search);
  about["has_shortlist"] = !own.shortlist.file.empty();
  about["has_terms"] = !own.terms.empty();
  return decode::dump(about);
}

std::string openapi() {
  ordered_json document = ordered_json::parse(openapi_json);
  ordered_json& schemas = document["components"]["schemas"];
  ordered_json properties = json_schema<TranslationRequest>();
  properties["terms"]["items"]["required"] = {"source", "target"};
  schemas["Request"]["properties"] = std::move(properties);
  schemas["Model"]["properties"]["search"] = {
      {"type", "object"},
      {"description", "The search options of requests that do not set their own"},
      {"properties", json_schema<decode::SearchOptions>()}};
  return document.dump(2) + '\n';
}

}  // namespace residual::serve
