// Reads any bytes as a one-file model: the result is an Error or a model that translates.

#include <sys/mman.h>
#include <unistd.h>

#include "decode/translator.h"
#include "fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace residual;
  const int file = ::memfd_create("bundle", MFD_CLOEXEC);
  FileSystem::real().write(file, "bundle", fuzz::text(data, size));
  fuzz::allowing_errors([&] {
    const auto path = fs::path("/proc/self/fd") / std::to_string(file);
    decode::TranslatorOptions options;
    options.crew.threads = 1;
    options.search.max_length_factor = 0;
    options.search.max_length_offset = 2;
    const std::vector<std::string> lines = {"a b"};
    decode::Translator({path}, options).translate(lines);
  });
  ::close(file);
  return 0;
}
