// Parses any bytes as body and query of a translation request: the result is an Error or lines.

#include "fuzz/input.h"
#include "serve/request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace residual;
  const std::string text(fuzz::text(data, size));
  fuzz::allowing_errors([&] {
    const auto request = serve::parse_json(text, {});
    const auto lines = serve::lines_of(request);
    const std::vector<decode::Translation> translations(lines.size(), {.outputs = {{}}});
    serve::answer_json(request, lines, translations);
  });
  fuzz::allowing_errors([&] {
    const size_t cut = text.find('\n');
    const size_t equals = std::min(text.find('='), text.size());
    serve::parse_text(cut == std::string::npos ? "" : text.substr(cut),
                      {{text.substr(0, equals), text.substr(equals)}}, {});
  });
  return 0;
}
