#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "data/clean.h"
#include "data/pairs.h"

// Parallel text through all cores, in order and in bounded memory.
namespace residual::data {

// Replaces both sides; a verdict other than kept drops the pair. Called from one thread at a time.
using PairTransform = std::function<Verdict(std::string& source, std::string& target)>;

struct PairView {
  std::string_view source, target;
  uint64_t number;
  Verdict verdict;
};

struct PairStream {
  std::string label;  // of the progress display
  std::vector<PairFiles> inputs;
  text::Invalid invalid = text::Invalid::refuse;
  uint64_t pairs = 0;  // for the display; 0: unknown

  // Every pair through a transform (one made per thread), then to `consume`, in order.
  void run(const std::function<PairTransform()>& make_transform,
           const std::function<void(const PairView&)>& consume) const;

  // The first pair, after the transform; empty if there is none.
  std::pair<std::string, std::string> first(const PairTransform& transform) const;
};

// A new file that does not outlive the process, or that somebody else makes durable: buffered and
// not synced.
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

// Writes what a PairReader reads back: two texts and the numbers of their lines.
class PairWriter {
 public:
  // prefix.source, prefix.target and prefix.numbers
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
