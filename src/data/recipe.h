#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/config.h"
#include "data/clean.h"
#include "data/language_pair.h"

// The recipe of `residual prepare`. The steps on raw parallel text, in order:
//
//   normalise, tokenise, clean (raw | tokens), lower-case, split off dev, learn and apply
//   sub-words, clean (pieces), count the vocabulary, write ids
namespace residual::data {

enum class TokenizerKind { moses, none };
constexpr auto names(TokenizerKind) { return std::array{"moses", "none"}; }
enum class SubwordKind { bpe, sentencepiece_unigram, sentencepiece_bpe, none };
constexpr auto names(SubwordKind) {
  return std::array{"bpe", "sentencepiece-unigram", "sentencepiece-bpe", "none"};
}

struct TextOptions {
  bool normalize_punctuation = false;
  bool remove_non_printing = false;
  TokenizerKind tokenizer = TokenizerKind::moses;
  bool aggressive = false;
  bool escape = true;
  bool lowercase = false;
};
inline void fields(ConfigVisitor& visit, TextOptions& o) {
  visit("normalize_punctuation", o.normalize_punctuation, "Moses' punctuation normalisation");
  visit("remove_non_printing", o.remove_non_printing, "replace control characters with spaces");
  visit.choice("tokenizer", o.tokenizer, "tokeniser that splits words from punctuation");
  visit("aggressive", o.aggressive, "split at hyphens too (tokenizer.perl -a)");
  visit("escape", o.escape, "write & < > ' \" | [ ] as entities, as Moses does");
  visit("lowercase", o.lowercase, "lower-case the text after cleaning");
}

struct HeldOutOptions {
  bool normalize = true;
  bool straighten_apostrophes = false;
};
inline void fields(ConfigVisitor& visit, HeldOutOptions& o) {
  visit("normalize", o.normalize,
        "apply normalize_punctuation and remove_non_printing to dev and test files too; a model "
        "always applies them to the raw text it translates, if train had them");
  visit("straighten_apostrophes", o.straighten_apostrophes,
        "replace the typographic apostrophe with ' in dev and test files");
}

struct SplitOptions {
  int64_t dev_every = 0;
  int64_t test_every = 0;
};
inline void fields(ConfigVisitor& visit, SplitOptions& o) {
  visit("dev_every", o.dev_every,
        "take every n-th line of the training text for dev, instead of dev files; 0: none",
        {.min = 0});
  visit("test_every", o.test_every,
        "running text: take every n-th document for test, instead of test files; 0: none",
        {.min = 0});
}

struct WindowOptions {
  bool lines = false;
  int64_t tokens = 256;
};
inline void fields(ConfigVisitor& visit, WindowOptions& o) {
  visit("lines", o.lines, "every line is a document, instead of what empty lines separate");
  visit("tokens", o.tokens, "tokens of a window of running text; the model's positions, at most",
        {.min = 2, .max = 1 << 20});
}

struct SubwordOptions {
  SubwordKind kind = SubwordKind::bpe;
  bool joint = true;
  int64_t merges = 10000;
  int64_t min_frequency = 2;
  int64_t vocabulary_size = 8000;
  double character_coverage = 0.9995;
  int64_t sentences = 0;
};
inline void fields(ConfigVisitor& visit, SubwordOptions& o) {
  visit.choice("kind", o.kind, "sub-word method; bpe follows subword-nmt");
  visit("joint", o.joint, "learn one model for all languages, not one for each");
  visit("merges", o.merges, "bpe: merge operations to learn", {.min = 1});
  visit("min_frequency", o.min_frequency, "bpe: learning stops below this pair frequency",
        {.min = 1});
  visit("vocabulary_size", o.vocabulary_size, "sentencepiece: pieces to learn",
        {.min = 4, .max = 1 << 30});
  visit("character_coverage", o.character_coverage,
        "sentencepiece: share of the text's characters that the pieces cover",
        {.min = 0.98, .max = 1});
  visit("sentences", o.sentences,
        "sentencepiece: sentences to sample for learning, more than 100; 0: all", {.min = 0});
}

struct VocabularyOptions {
  bool joined = true;
  int64_t threshold = 0;
  int64_t max_symbols = 0;
  int64_t multiple = 8;
  bool language_tags = false;
};
inline void fields(ConfigVisitor& visit, VocabularyOptions& o) {
  visit("joined", o.joined, "use one vocabulary for all languages, not one for each side");
  visit("threshold", o.threshold, "symbols seen fewer times become unknown", {.min = 0});
  visit("max_symbols", o.max_symbols, "most symbols to keep, special ones included; 0: all",
        {.min = 0});
  visit("multiple", o.multiple, "pad to a multiple of this with unused symbols",
        {.min = 1, .max = 1 << 20});
  visit("language_tags", o.language_tags,
        "add a tag <2xx> for each target language, to put before the source");
}

struct Recipe {
  std::string description;
  std::string data;
  std::vector<std::string> pairs;
  std::string language;
  std::vector<std::string> train = {"train"};
  std::vector<std::string> dev = {"dev"};
  std::vector<std::string> test = {"test"};
  std::vector<int64_t> tsv_columns = {1, 2};
  bool both_directions = false;
  std::string like;
  TextOptions text;
  HeldOutOptions held_out;
  CleanOptions clean;
  SplitOptions split;
  WindowOptions windows;
  SubwordOptions subwords;
  VocabularyOptions vocabulary;
};
inline void fields(ConfigVisitor& visit, Recipe& o) {
  visit("description", o.description, "purpose of this recipe");
  visit("data", o.data, "directory of the files named below, as `residual fetch` fills it");
  visit("pairs", o.pairs,
        "language pairs, source first: [\"en-de\"]; [\"all\"]: all folders of the data named so");
  visit("language", o.language,
        "language of running text, instead of pairs: the files named below have documents that "
        "empty lines separate");
  visit("train", o.train,
        "training files: .tsv files, or names to which .<language> is added; {pair} "
        "stands for the pair's name");
  visit("dev", o.dev, "validation files, named in the same way");
  visit("test", o.test, "test files, named in the same way");
  visit("tsv_columns", o.tsv_columns, "source and target columns of .tsv files, counted from 1");
  visit("both_directions", o.both_directions, "write a corpus for the other direction too");
  visit("like", o.like,
        "prepared directory or model to take pieces and ids from; it also sets [text], [subwords] "
        "and [vocabulary]");
  visit.table("text", o.text, "from raw text to words");
  visit.table("held_out", o.held_out, "how dev and test files differ from training text");
  visit.table("clean", o.clean, "which training pairs are dropped");
  visit.table("split", o.split, "dev from training text");
  visit.table("windows", o.windows, "running text to pieces of one length");
  visit.table("subwords", o.subwords, "from words to pieces");
  visit.table("vocabulary", o.vocabulary, "from pieces to ids, by fairseq's rules");
}

// Returns the language pairs; "all" stands for every folder of the data named like a pair, in
// order.
std::vector<LanguagePair> language_pairs(const Recipe& recipe);

// Throws an Error unless the keys are consistent.
void check(const Recipe& recipe);

// Returns a line, with the reason, for each key that differs from its default but has no effect.
std::vector<std::string> void_keys(const Recipe& recipe);

}  // namespace residual::data
