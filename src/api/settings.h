#pragma once

#include <string>
#include <string_view>

#include "decode/translator.h"

namespace residual::api {

// The settings of residual_open(): words "key=value". Unknown keys and values that do not fit are
// errors that name the word.
decode::TranslatorOptions parse_settings(std::string_view words);

// Every key with its default and meaning, as TOML.
std::string explain_settings();

}  // namespace residual::api
