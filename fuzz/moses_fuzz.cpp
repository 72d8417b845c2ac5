// Runs any text through the Moses tools: the output is valid UTF-8.

#include <cstdlib>
#include <string>

#include "fuzz/input.h"
#include "text/detokenizer.h"
#include "text/normalizer.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace residual::text {
namespace {

void run(const std::string& language, std::string_view line) {
  std::string out, normalised, tokens;
  PunctuationNormalizer{language}(line, normalised);
  remove_non_printing(normalised, out);
  Tokenizer({.language = language, .aggressive = true})(out, tokens);
  out.clear();
  Detokenizer{language}(tokens, out);
  lowercase(line, out);
  for (const std::string* text : {&out, &normalised, &tokens}) {
    if (find_invalid_utf8(*text) != std::string::npos) std::abort();
  }
}

}  // namespace
}  // namespace residual::text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace residual;
  std::string line = text::replace_invalid_utf8(fuzz::text(data, size));
  std::erase(line, '\n');
  for (const char* language : {"en", "de", "fr", "it", "fi", "cs"}) text::run(language, line);
  return 0;
}
