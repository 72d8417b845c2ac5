#pragma once

#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "data/pair_stream.h"
#include "data/preparing/inspect.h"
#include "data/recipe.h"
#include "data/subwords.h"
#include "text/word_counts.h"

// The steps of `residual prepare` from text to text. Each step reads the output of the previous
// one.
namespace residual::data {

// One split of one language pair during the steps.
struct CorpusPart {
  LanguagePair pair;
  std::string split;  // "train", "dev" or "test"
  std::vector<PairFiles> raw;
  bool is_training_text = false;  // train, or a dev that is split off train
  uint64_t pairs = 0;             // number of pairs after the last step
  PairFiles words = {}, pieces = {};

  std::string label() const { return split + " " + pair.name(); }
};

struct Workshop {
  const Recipe& recipe;
  text::Invalid invalid;
  fs::path directory;  // output directory of the steps

  fs::path file(const CorpusPart& part, const char* step) const;
};

// Converts training text to words: drops pairs, cleans (raw or tokens) and splits off `dev`, unless
// it is null.
void training_words(const Workshop& workshop, const HeldOut& held_out, CorpusPart& train,
                    CorpusPart* dev, Verdicts& verdicts);

// Converts dev and test files to words. It drops no pairs.
void held_out_words(const Workshop& workshop, CorpusPart& part);

// Counts of the pieces on each side.
class PieceCounts {
 public:
  struct Sides {
    text::WordCounts source, target;
  };
  Sides& start();       // new counts for one thread, valid as long as this object
  Sides total() const;  // REQUIRES: no thread is counting

 private:
  std::mutex mutex_;
  std::list<Sides> threads_;
};

// Converts words to pieces and cleans (pieces) training text. Adds to `counts` unless it is null.
void to_pieces(const Workshop& workshop, const Subwords& subwords, CorpusPart& part,
               Verdicts& verdicts, PieceCounts* counts);

}  // namespace residual::data
