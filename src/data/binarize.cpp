#include "data/binarize.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/pipeline.h"
#include "base/progress.h"

namespace residual::data {
namespace {

struct Sentences {
  std::vector<int32_t> ids;
  std::vector<size_t> ends;
  std::span<const int32_t> operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::span(ids).subspan(begin, ends[i] - begin);
  }
};

struct Block {
  Sentences source, target;
  std::vector<uint64_t> numbers;
};

Sentences encode(const LineBuffer& lines, const text::Vocabulary& vocabulary) {
  Sentences out;
  for (size_t i = 0; i < lines.size(); ++i) {
    vocabulary.encode(lines[i], out.ids);
    out.ends.push_back(out.ids.size());
  }
  return out;
}

void count(const Sentences& sentences, TokenCounts& counts) {
  counts.tokens += sentences.ids.size();
  counts.unknown += static_cast<uint64_t>(
      std::count(sentences.ids.begin(), sentences.ids.end(), text::Vocabulary::kUnk));
}

}  // namespace

Binarized binarize(const std::string& label, const PairFiles& pieces, uint64_t pairs,
                   const text::Vocabulary& source_vocabulary,
                   const text::Vocabulary& target_vocabulary, CorpusWriter& corpus,
                   CorpusWriter* reversed) {
  PairReader reader({pieces}, text::Invalid::refuse);
  Progress progress(label, pairs, "pairs");
  Binarized out;
  OrderedPipeline<PairBlock, Block> pipeline;
  pipeline.produce = [&] { return reader.next(); };
  pipeline.make_worker = [&] {
    return [&](PairBlock block) {
      return Block{.source = encode(block.source, source_vocabulary),
                   .target = encode(block.target, target_vocabulary),
                   .numbers = std::move(block.numbers)};
    };
  };
  pipeline.consume = [&](const Block& block) {
    for (size_t i = 0; i < block.numbers.size(); ++i) {
      corpus.add(block.source[i], block.target[i], block.numbers[i]);
      if (reversed) reversed->add(block.target[i], block.source[i], block.numbers[i]);
    }
    count(block.source, out.source);
    count(block.target, out.target);
    out.pairs += block.numbers.size();
    progress.add(block.numbers.size());
  };
  pipeline.run(thread_count());
  progress.finish();
  return out;
}

}  // namespace residual::data
