#include "serve/describe.h"

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "decode/json.h"

namespace residual::serve {

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

}  // namespace residual::serve
