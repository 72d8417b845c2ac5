#pragma once

#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "data/inspect.h"
#include "data/pair_stream.h"
#include "data/recipe.h"
#include "data/subwords.h"
#include "text/word_counts.h"

// The steps of `residual prepare` that turn text into text. Each reads what the one before wrote.
namespace residual::data {

// One split of one language pair on its way through the steps.
struct Part {
  LanguagePair pair;
  std::string split;  // "train", "dev" or "test"
  std::vector<PairFiles> raw;
  bool is_training_text = false;  // train, or a dev that is split off it
  uint64_t pairs = 0;             // as many as the last step left
  PairFiles words = {}, pieces = {};

  std::string label() const { return split + " " + pair.name(); }
};

struct Workshop {
  const Recipe& recipe;
  text::Invalid invalid;
  fs::path directory;  // for what the steps write

  fs::path file(const Part& part, const char* step) const;
};

// Training text to words: drops, cleans (raw or tokens) and splits off `dev`, unless it is null.
void training_words(const Workshop& workshop, const HeldOut& held_out, Part& train, Part* dev,
                    Verdicts& verdicts);

// Dev and test files to words. Nothing is dropped.
void held_out_words(const Workshop& workshop, Part& part);

// How often each piece occurs on either side.
class PieceCounts {
 public:
  struct Sides {
    text::WordCounts source, target;
  };
  Sides& start();       // counts of a thread's own, which live as long as this
  Sides total() const;  // REQUIRES: no thread is counting

 private:
  std::mutex mutex_;
  std::list<Sides> threads_;
};

// Words to pieces; cleans (pieces) what comes from training text. Counts into `counts` unless it
// is null.
void to_pieces(const Workshop& workshop, const Subwords& subwords, Part& part, Verdicts& verdicts,
               PieceCounts* counts);

}  // namespace residual::data
