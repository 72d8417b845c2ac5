// Reads any bytes as a corpus file: the result is an Error, or readable pairs and batches.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "data/batcher.h"
#include "data/corpus.h"

namespace residual::data {
namespace {

// A fuzzer cannot guess checksums. If the first byte is odd, the footer gets a valid one, so that
// the code behind the check is reached too.
std::string with_checksum(std::string bytes) {
  CorpusFooter footer;
  if (bytes.size() < sizeof(footer)) return bytes;
  char* at = bytes.data() + bytes.size() - sizeof(footer);
  std::memcpy(&footer, at, sizeof(footer));
  footer.checksum = checksum({at, offsetof(CorpusFooter, checksum)});
  std::memcpy(at, &footer, sizeof(footer));
  return bytes;
}

void read_pairs(const Corpus& corpus) {
  std::vector<int32_t> source, target;
  for (int64_t pair = 0; pair < corpus.size(); ++pair) {
    source.clear();
    target.clear();
    try {
      corpus.append(pair, source, target);
      if (source.empty() || target.empty()) std::abort();
    } catch (const Error&) {
    }
  }
}

void read_corpus(const fs::path& path) {
  try {
    const Corpus corpus = Corpus::open(path);
    read_pairs(corpus);
    Batcher batcher({{.corpus = &corpus}}, {.max_tokens = 1 << 12});
    for (int i = 0; i < 8; ++i) batcher.next();
    corpus.verify();
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace residual::data

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace residual;
  log::set_level(log::Level::error);
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 2 == 1) bytes = data::with_checksum(std::move(bytes));
  const int file = ::memfd_create("corpus", 0);
  if (::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
    data::read_corpus("/proc/self/fd/" + std::to_string(file));
  }
  ::close(file);
  return 0;
}
