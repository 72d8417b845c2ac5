#pragma once

#include <string>

#include "decode/translator.h"

namespace residual::serve {

// What GET /model gives: the model, its directions, and the search that requests begin with. JSON.
std::string describe(const decode::Translator& translator);

}  // namespace residual::serve
