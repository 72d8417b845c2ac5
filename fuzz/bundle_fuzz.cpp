// Any bytes as a model in one file: an Error, or a model whose weights and text files load.

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
    const std::vector<std::shared_ptr<const model::Directory>> models = {
        std::make_shared<model::Directory>(model::Directory::open(path))};
    decode::TextTools::of(models, {});
    decode::load_weights(models[0], decode::Precision::float32);
  });
  ::close(file);
  return 0;
}
