#include "data/preparing/inspect.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parallel.h"
#include "base/pipeline.h"
#include "base/progress.h"

namespace residual::data {
namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

void merge(Oddity& total, const Oddity& part) {
  if (total.count == 0) total.first = part.first;
  total.count += part.count;
}

Inspection look_at(const PairBlock& block, const HeldOut* overlap) {
  Inspection found;
  for (size_t i = 0; i < block.numbers.size(); ++i) {
    const std::string_view source = block.source[i], target = block.target[i];
    const uint64_t line = block.numbers[i];
    ++found.pairs;
    const bool empty = is_blank(source) || is_blank(target);
    if (empty) found.empty.add(line);
    if (!empty && source == target) found.identical.add(line);
    if (std::max(source.size(), target.size()) > kLongLineBytes) found.long_line.add(line);
    if (!overlap || empty) continue;
    if (overlap->has_pair(source, target)) found.shared_pair.add(line);
    if (overlap->has_sentence_of(source, target)) found.shared_sentence.add(line);
  }
  return found;
}

struct Looked {
  PairBlock block;
  Inspection found;
};

}  // namespace

void HeldOut::add(std::string_view source, std::string_view target) {
  pairs_.insert(pair_hash(source, target));
  sources_.insert(checksum(source));
  targets_.insert(checksum(target));
}

Inspection inspect(const std::string& label, const std::vector<PairFiles>& inputs,
                   text::Invalid invalid, const HeldOut* overlap, HeldOut* collect) {
  PairReader reader(inputs, invalid);
  Progress progress("inspect " + label, 0, "pairs");
  Inspection total;
  OrderedPipeline<PairBlock, Looked> pipeline;
  pipeline.produce = [&] { return reader.next(); };
  pipeline.make_worker = [&] {
    return [&](PairBlock block) {
      Inspection found = look_at(block, overlap);
      return Looked{.block = std::move(block), .found = found};
    };
  };
  pipeline.consume = [&](const Looked& looked) {
    total.pairs += looked.found.pairs;
    merge(total.empty, looked.found.empty);
    merge(total.identical, looked.found.identical);
    merge(total.long_line, looked.found.long_line);
    merge(total.shared_pair, looked.found.shared_pair);
    merge(total.shared_sentence, looked.found.shared_sentence);
    const PairBlock& block = looked.block;
    for (size_t i = 0; collect && i < block.numbers.size(); ++i) {
      if (!is_blank(block.source[i]) && !is_blank(block.target[i])) {
        collect->add(block.source[i], block.target[i]);
      }
    }
    progress.add(looked.found.pairs);
  };
  pipeline.run(thread_count());
  progress.finish();
  return total;
}

std::vector<std::string> warnings(const std::string& label, const Inspection& inspection) {
  std::vector<std::string> out;
  const auto warn = [&](const Oddity& finding, const std::string& what) {
    if (finding.count == 0) return;
    out.push_back(fmt::format("{}: {} {} {}, the first in line {}", label,
                              format_count(finding.count), finding.count == 1 ? "pair" : "pairs",
                              what, finding.first));
  };
  warn(inspection.empty, "with an empty side");
  warn(inspection.identical, "with equal sides");
  warn(inspection.long_line, fmt::format("with a line of more than {} bytes", kLongLineBytes));
  warn(inspection.shared_pair, "also in dev or test");
  warn(inspection.shared_sentence, "with a sentence that is also in dev or test");
  return out;
}

}  // namespace residual::data
