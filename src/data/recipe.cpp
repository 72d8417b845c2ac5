#include "data/recipe.h"

#include <algorithm>

#include "base/error.h"

namespace residual::data {
namespace {

std::vector<std::string> pair_folders(const std::string& data) {
  require(fs::is_directory(data),
          "{}: is not a directory; \"all\" stands for its folders named "
          "like en-de; give the data's directory with --data",
          data.empty() ? "data" : data);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(data)) {
    const std::string name = entry.path().filename();
    if (entry.is_directory() && !name.starts_with('.') && name.find('-') != std::string::npos) {
      names.push_back(name);
    }
  }
  require(!names.empty(), "{}: has no folder named like a language pair (en-de)", data);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<LanguagePair> language_pairs(const Recipe& recipe) {
  if (!recipe.language.empty()) return {{.source = recipe.language, .target = recipe.language}};
  const bool all = recipe.pairs == std::vector<std::string>{"all"};
  std::vector<LanguagePair> pairs;
  for (const auto& name : all ? pair_folders(recipe.data) : recipe.pairs) {
    pairs.push_back(parse_pair(name));
    const auto same = [&](const LanguagePair& other) {
      return (other.source == pairs.back().source && other.target == pairs.back().target) ||
             (other.source == pairs.back().target && other.target == pairs.back().source);
    };
    require(std::none_of(pairs.begin(), pairs.end() - 1, same),
            "pairs: \"{}\" is listed twice; use both_directions for the other direction", name);
  }
  return pairs;
}

void check(const Recipe& o) {
  const bool is_text = !o.language.empty();
  require(!is_text || o.pairs.empty(), "language and pairs exclude each other");
  require(!is_text || (o.vocabulary.joined && !o.vocabulary.language_tags && !o.both_directions),
          "language: running text has one vocabulary, no tags and no other direction");
  require(is_text || !o.pairs.empty(),
          "pairs: no language pair; give one, such as pairs = [\"en-de\"], or "
          "--source-lang and --target-lang");
  require(!o.train.empty(), "train: no training text");
  require(o.tsv_columns.size() == 2 && std::min(o.tsv_columns[0], o.tsv_columns[1]) >= 1,
          "tsv_columns: expected two column numbers, counted from 1");
  require(o.split.dev_every != 1, "split.dev_every: 1 would leave nothing to train on");
  require(o.split.dev_every == 0 || o.dev.empty(),
          "dev and split.dev_every exclude each other; set dev = [] to split");
  require(o.split.test_every != 1, "split.test_every: 1 would leave nothing to train on");
  require(o.split.test_every == 0 || (is_text && o.test.empty()),
          "split.test_every is for running text, and test = []");
  const bool several = o.pairs.size() > 1 || (!is_text && o.pairs[0] == "all") || o.both_directions;
  require(o.vocabulary.joined || !several,
          "vocabulary.joined: several directions need one joined vocabulary");
  require(o.clean.max_words >= o.clean.min_words,
          "clean.max_words: {} is less than clean.min_words, {}", o.clean.max_words,
          o.clean.min_words);
  require(o.subwords.sentences == 0 || o.subwords.sentences > 100,
          "subwords.sentences: is {}; SentencePiece takes a sample of more than 100, or 0 for all",
          o.subwords.sentences);
}

std::vector<std::string> void_keys(const Recipe& o) {
  const Recipe usual;
  std::vector<std::string> found;
  const auto note = [&](bool is_void, const char* key, const char* reason) {
    if (is_void) found.push_back(fmt::format("{}: has no effect, since {}", key, reason));
  };
  const SubwordOptions &s = o.subwords, &u = usual.subwords;
  const char* const no_bpe = "subwords.kind is not bpe";
  note(s.kind != SubwordKind::bpe && s.merges != u.merges, "subwords.merges", no_bpe);
  note(s.kind != SubwordKind::bpe && s.min_frequency != u.min_frequency, "subwords.min_frequency",
       no_bpe);
  const bool pieces =
      s.kind == SubwordKind::sentencepiece_unigram || s.kind == SubwordKind::sentencepiece_bpe;
  const char* const no_pieces = "subwords.kind is not a sentencepiece kind";
  note(!pieces && s.vocabulary_size != u.vocabulary_size, "subwords.vocabulary_size", no_pieces);
  note(!pieces && s.character_coverage != u.character_coverage, "subwords.character_coverage",
       no_pieces);
  note(!pieces && s.sentences != u.sentences, "subwords.sentences", no_pieces);
  const bool untokenized = o.text.tokenizer == TokenizerKind::none;
  note(untokenized && o.text.aggressive, "text.aggressive", "text.tokenizer is none");
  note(untokenized && !o.text.escape, "text.escape", "text.tokenizer is none");
  const bool uncleaned = o.clean.stage == CleanStage::none;
  const char* const no_stage = "clean.stage is none";
  note(uncleaned && o.clean.min_words != usual.clean.min_words, "clean.min_words", no_stage);
  note(uncleaned && o.clean.max_words != usual.clean.max_words, "clean.max_words", no_stage);
  note(uncleaned && o.clean.max_ratio != usual.clean.max_ratio, "clean.max_ratio", no_stage);
  return found;
}

}  // namespace residual::data
