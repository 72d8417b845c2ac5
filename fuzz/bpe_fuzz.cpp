// Reads any bytes as BPE codes, and applies them to the lines after the first NUL.

#include <algorithm>
#include <memory>
#include <string>

#include "fuzz/input.h"
#include "text/bpe.h"
#include "text/unicode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace residual;
  return fuzz::allowing_errors([&] {
    const auto input = fuzz::text(data, size);
    const size_t end = std::min(input.find('\0'), size);
    const auto bpe = std::make_shared<text::Bpe>(input.substr(0, end), "input");
    std::string pieces, restored;
    const std::string line = text::replace_invalid_utf8(input.substr(end));
    text::bpe_transform(bpe)(line, pieces);
    text::undo_bpe(pieces, "@@", restored);
  });
}
