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

struct HeldOutOptions {
  bool normalize = true;
  bool straighten_apostrophes = false;
};

struct SplitOptions {
  int64_t dev_every = 0;
};

struct SubwordOptions {
  SubwordKind kind = SubwordKind::bpe;
  bool joint = true;
  int64_t merges = 10000;
  int64_t min_frequency = 2;
  int64_t vocabulary_size = 8000;
  double character_coverage = 0.9995;
  int64_t sentences = 0;
};

struct VocabularyOptions {
  bool joined = true;
  int64_t threshold = 0;
  int64_t max_symbols = 0;
  int64_t multiple = 8;
  bool language_tags = false;
};

struct Recipe {
  std::string description;
  std::string data;
  std::vector<std::string> pairs;
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
  SubwordOptions subwords;
  VocabularyOptions vocabulary;
};
void fields(ConfigVisitor& visit, TextOptions& options);
void fields(ConfigVisitor& visit, HeldOutOptions& options);
void fields(ConfigVisitor& visit, SplitOptions& options);
void fields(ConfigVisitor& visit, SubwordOptions& options);
void fields(ConfigVisitor& visit, VocabularyOptions& options);
void fields(ConfigVisitor& visit, Recipe& recipe);

// Returns the language pairs; "all" stands for every folder of the data named like a pair, in
// order.
std::vector<LanguagePair> language_pairs(const Recipe& recipe);

// Throws an Error unless the keys are consistent.
void check(const Recipe& recipe);

// Returns a line, with the reason, for each key that differs from its default but has no effect.
std::vector<std::string> void_keys(const Recipe& recipe);

}  // namespace residual::data
