#include "data/pair_stream.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/pipeline.h"
#include "base/progress.h"

namespace residual::data {
namespace {

struct Transformed {
  PairBlock block;
  std::vector<Verdict> verdicts;
};

Transformed transformed(const PairBlock& block, const PairTransform& transform) {
  Transformed out{.block = {.numbers = block.numbers}};
  std::string source, target;
  for (size_t i = 0; i < block.numbers.size(); ++i) {
    source = block.source[i];
    target = block.target[i];
    out.verdicts.push_back(transform(source, target));
    out.block.source.add(source);
    out.block.target.add(target);
  }
  return out;
}

}  // namespace

void PairStream::run(const std::function<PairTransform()>& make_transform,
                     const std::function<void(const PairView&)>& consume) const {
  PairReader reader(inputs, invalid);
  Progress progress(label, pairs, "pairs");
  OrderedPipeline<PairBlock, Transformed> pipeline;
  pipeline.produce = [&] { return reader.next(); };
  pipeline.make_worker = [&] {
    return [transform = make_transform()](const PairBlock& block) {
      return transformed(block, transform);
    };
  };
  pipeline.consume = [&](const Transformed& out) {
    for (size_t i = 0; i < out.verdicts.size(); ++i) {
      consume({.source = out.block.source[i],
               .target = out.block.target[i],
               .number = out.block.numbers[i],
               .verdict = out.verdicts[i]});
    }
    progress.add(out.verdicts.size());
  };
  pipeline.run(thread_count());
  progress.finish();
}

std::pair<std::string, std::string> PairStream::first(const PairTransform& transform) const {
  const auto block = PairReader(inputs, invalid).next();
  if (!block) return {};
  std::pair<std::string, std::string> pair(block->source[0], block->target[0]);
  transform(pair.first, pair.second);
  return pair;
}

ScratchFile::ScratchFile(const fs::path& path)
    : path_(path), file_(std::fopen(path.c_str(), "wbe")) {
  if (!file_) fail_errno(path_, "cannot create");
}

ScratchFile::~ScratchFile() {
  if (file_) std::fclose(file_);
}

void ScratchFile::write_line(std::string_view line) {
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() ||
      std::fputc('\n', file_) == EOF) {
    fail_errno(path_, "cannot write");
  }
}

void ScratchFile::close() {
  if (std::fclose(std::exchange(file_, nullptr)) != 0) fail_errno(path_, "cannot write");
}

PairWriter::PairWriter(const fs::path& prefix)
    : files_{.source = prefix.string() + ".source",
             .target = prefix.string() + ".target",
             .numbers = prefix.string() + ".numbers"},
      source_(files_.source),
      target_(files_.target),
      numbers_(files_.numbers) {}

void PairWriter::add(const PairView& pair) {
  source_.write_line(pair.source);
  target_.write_line(pair.target);
  numbers_.write_line(fmt::format_int(pair.number).c_str());
  ++pairs_;
}

PairFiles PairWriter::close() {
  source_.close();
  target_.close();
  numbers_.close();
  return files_;
}

}  // namespace residual::data
