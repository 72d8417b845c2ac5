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

void fields(ConfigVisitor& visit, TextOptions& o) {
  visit("normalize_punctuation", o.normalize_punctuation, "Moses' punctuation normalisation");
  visit("remove_non_printing", o.remove_non_printing, "replace control characters with spaces");
  visit.choice("tokenizer", o.tokenizer, "tokeniser that splits words from punctuation");
  visit("aggressive", o.aggressive, "split at hyphens too (tokenizer.perl -a)");
  visit("escape", o.escape, "write & < > ' \" | [ ] as entities, as Moses does");
  visit("lowercase", o.lowercase, "lower-case the text after cleaning");
}

void fields(ConfigVisitor& visit, HeldOutOptions& o) {
  visit("normalize", o.normalize,
        "apply normalize_punctuation and remove_non_printing to dev and test files too; a model "
        "always applies them to the raw text it translates, if train had them");
  visit("straighten_apostrophes", o.straighten_apostrophes,
        "replace the typographic apostrophe with ' in dev and test files");
}

void fields(ConfigVisitor& visit, SplitOptions& o) {
  visit("dev_every", o.dev_every,
        "take every n-th line of the training text for dev, instead of dev files; 0: none",
        {.min = 0});
}

void fields(ConfigVisitor& visit, SubwordOptions& o) {
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

void fields(ConfigVisitor& visit, VocabularyOptions& o) {
  visit("joined", o.joined, "use one vocabulary for all languages, not one for each side");
  visit("threshold", o.threshold, "symbols seen fewer times become unknown", {.min = 0});
  visit("max_symbols", o.max_symbols, "most symbols to keep, special ones included; 0: all",
        {.min = 0});
  visit("multiple", o.multiple, "pad to a multiple of this with unused symbols",
        {.min = 1, .max = 1 << 20});
  visit("language_tags", o.language_tags,
        "add a tag <2xx> for each target language, to put before the source");
}

void fields(ConfigVisitor& visit, Recipe& o) {
  visit("description", o.description, "purpose of this recipe");
  visit("data", o.data, "directory of the files named below, as `residual fetch` fills it");
  visit("pairs", o.pairs,
        "language pairs, source first: [\"en-de\"]; [\"all\"]: all folders of the data named so");
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
  visit.table("subwords", o.subwords, "from words to pieces");
  visit.table("vocabulary", o.vocabulary, "from pieces to ids, by fairseq's rules");
}

std::vector<LanguagePair> language_pairs(const Recipe& recipe) {
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
  require(!o.pairs.empty(),
          "pairs: no language pair; give one, such as pairs = [\"en-de\"], or "
          "--source-lang and --target-lang");
  require(!o.train.empty(), "train: no training text");
  require(o.tsv_columns.size() == 2 && std::min(o.tsv_columns[0], o.tsv_columns[1]) >= 1,
          "tsv_columns: expected two column numbers, counted from 1");
  require(o.split.dev_every != 1, "split.dev_every: 1 would leave nothing to train on");
  require(o.split.dev_every == 0 || o.dev.empty(),
          "dev and split.dev_every exclude each other; set dev = [] to split");
  const bool several = o.pairs.size() > 1 || o.pairs[0] == "all" || o.both_directions;
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
