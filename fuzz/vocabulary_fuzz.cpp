// Reads any bytes as a dict.txt: the result is an Error, or a vocabulary that reads back after
// writing.

#include <cstdlib>

#include "fuzz/input.h"
#include "text/vocabulary.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace residual;
  return fuzz::allowing_errors([&] {
    const auto vocabulary = text::Vocabulary::parse(fuzz::text(data, size), "input");
    const std::string written = vocabulary.format();
    if (text::Vocabulary::parse(written, "written").format() != written) std::abort();
  });
}
