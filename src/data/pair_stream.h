#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "data/clean.h"
#include "data/pairs.h"

// Processing of parallel text on all cores, in order and in bounded memory.
namespace residual::data {

// A function that replaces both sides; a verdict other than kept drops the pair. Only one thread at
// a time calls it.
using PairTransform = std::function<Verdict(std::string& source, std::string& target)>;

struct PairView {
  std::string_view source, target;
  uint64_t number;
  Verdict verdict;
};

struct PairStream {
  std::string label;  // label of the progress display
  std::vector<PairFiles> inputs;
  text::Invalid invalid = text::Invalid::refuse;
  uint64_t pairs = 0;  // for the display; 0: unknown

  // Passes every pair through a transform (one made per thread), then to `consume`, in order.
  void run(const std::function<PairTransform()>& make_transform,
           const std::function<void(const PairView&)>& consume) const;

  // Returns the first pair after the transform, or empty strings if there is none.
  std::pair<std::string, std::string> first(const PairTransform& transform) const;
};

// A new buffered file that is not synced: it is temporary, or its owner makes it durable.
class ScratchFile {
 public:
  explicit ScratchFile(const fs::path& path);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  void write_line(std::string_view line);
  void close();

 private:
  fs::path path_;
  std::FILE* file_;
};

// Writes files for a PairReader: two texts and the numbers of their lines.
class PairWriter {
 public:
  // Creates prefix.source, prefix.target and prefix.numbers.
  explicit PairWriter(const fs::path& prefix);

  void add(const PairView& pair);
  PairFiles close();
  uint64_t pairs() const { return pairs_; }

 private:
  PairFiles files_;
  ScratchFile source_, target_, numbers_;
  uint64_t pairs_ = 0;
};

}  // namespace residual::data
