#pragma once

#include <string>

#include "decode/translator.h"

namespace residual::serve {

// Returns the JSON answer of GET /model: the model, its directions and the default search options.
std::string describe(const decode::Translator& translator);

// What GET /openapi.json gives: web/serve/openapi.json, in which the schemas of requests and of the
// search are derived from their fields. `residual serve --openapi` prints it; the file in the
// repository is a copy, which also holds the parts that are written by hand.
std::string openapi();

}  // namespace residual::serve
