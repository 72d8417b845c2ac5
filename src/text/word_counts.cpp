#include "text/word_counts.h"

#include <list>
#include <mutex>

#include "base/parallel.h"
#include "base/pipeline.h"

namespace residual::text {

WordCounts count_words(std::span<const fs::path> files, Invalid invalid,
                       const LineCounter& count_line) {
  WordCounts all;
  for (const fs::path& file : files) {
    std::mutex mutex;
    std::list<WordCounts> parts;  // one per worker
    LineReader reader(file, invalid);
    OrderedPipeline<LineBlock, bool> pipeline;
    pipeline.produce = [&] { return reader.next(); };
    pipeline.stop = [&] { reader.interrupt(); };
    pipeline.make_worker = [&] {
      const std::lock_guard lock(mutex);
      return [&count_line, &counts = parts.emplace_back()](const LineBlock& block) {
        for_each_line(block, [&](std::string_view line, uint64_t) { count_line(line, counts); });
        return true;
      };
    };
    pipeline.consume = [](bool) {};
    pipeline.run(thread_count());
    for (const WordCounts& part : parts) all.add(part);
  }
  return all;
}

}  // namespace residual::text
