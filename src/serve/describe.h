#pragma once

#include <string>

#include "decode/translator.h"

namespace residual::serve {

// Returns the JSON answer of GET /model: the model, its directions and the default search options.
std::string describe(const decode::Translator& translator);

}  // namespace residual::serve
