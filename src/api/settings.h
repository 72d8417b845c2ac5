#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "decode/translator.h"

namespace residual::api {

// What a program may set when it opens a translator.
struct Settings {
  int64_t threads = 0;
  decode::TranslatorOptions translator;
};
void fields(ConfigVisitor& visit, Settings& settings);

// The options of these settings; an Error if they contradict each other.
decode::TranslatorOptions checked(const Settings& settings);

// The settings of residual_open(): words "key=value". Unknown keys and values that do not fit are
// errors that name the word.
decode::TranslatorOptions parse_settings(std::string_view words);

// Every key with its default and meaning, as TOML.
std::string explain_settings();

}  // namespace residual::api
