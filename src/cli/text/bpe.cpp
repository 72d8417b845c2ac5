// residual bpe: sub-words by byte pair encoding, interchangeable with subword-nmt.

#include "text/bpe.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "text/bpe_learner.h"

namespace residual::cli {
namespace {

using text::BpeMerge;

struct LearnOptions {
  std::vector<fs::path> inputs{"-"};
  fs::path output = "-";
  text::Invalid invalid = text::Invalid::refuse;
  text::BpeLearnOptions bpe;
  bool dictionary = false;
};

void learn(const LearnOptions& o) {
  text::LineWriter output(o.output);  // fails early if the name is wrong
  text::WordCounts words;
  if (o.dictionary) {
    for (const fs::path& file : o.inputs) {
      text::for_each_word_count(
          file, o.invalid, [&](std::string_view word, uint64_t count) { words.add(word, count); });
    }
  } else {
    words = text::count_words(o.inputs, o.invalid, text::count_bpe_words);
  }
  log::debug("{} different words", format_count(words.size()));
  const std::vector<BpeMerge> merges = text::learn_bpe(words, o.bpe);
  const auto learnt = static_cast<int64_t>(merges.size());
  if (!o.bpe.total_symbols && learnt < o.bpe.merges) {
    log::info("learnt {} merges: no other pair of symbols occurs {} times or more", learnt,
              o.bpe.min_frequency);
  }
  output.write(text::format_codes(merges));
  output.commit();
}

void add_learn(CLI::App& bpe) {
  auto* command =
      add_command(bpe, "learn", "learn merges from text; the codes go to standard output",
                  {"residual bpe learn --merges 10000 < train.tok.en > codes",
                   "# one set of merges for both languages",
                   "residual bpe learn --merges 10000 train.tok.de train.tok.en --output codes"});
  auto o = std::make_shared<LearnOptions>();
  command
      ->add_option("-i,--input,input", o->inputs,
                   "text, words separated by spaces; with or without \"--input\" before it")
      ->type_name("FILE")
      ->default_str("-")
      ->group("Input and output");
  command->add_option("-o,--output", o->output, "file for the codes; - is standard output")
      ->capture_default_str()
      ->type_name("FILE")
      ->group("Input and output");
  add_replace_invalid(*command, o->invalid, "Input and output");
  command->add_flag("--dict-input", o->dictionary, "each input line is \"word count\"")
      ->group("Input and output");
  command->add_option("-s,--merges", o->bpe.merges, "merges to learn")
      ->capture_default_str()
      ->check(whole(0, 1000000000))
      ->type_name("N")
      ->group("Learning");
  command
      ->add_option("--min-frequency", o->bpe.min_frequency,
                   "stop when every pair of symbols is rarer than N")
      ->capture_default_str()
      ->check(whole(1, 1000000000))
      ->type_name("N")
      ->group("Learning");
  command
      ->add_flag("-t,--total-symbols", o->bpe.total_symbols,
                 "--merges includes the characters, so it is about the total number of symbols")
      ->group("Learning");
  command->callback([o] { learn(*o); });
}

struct ApplyOptions {
  text::TransformLines files;
  fs::path codes;
  text::BpeOptions bpe;
  fs::path vocabulary;
  uint64_t threshold = 0;
};

void apply(ApplyOptions o) {
  if (!o.vocabulary.empty()) {
    o.bpe.vocabulary = text::read_bpe_vocabulary(o.vocabulary, o.threshold);
    if (o.bpe.vocabulary->size() == 0) {
      log::warn("{}: no piece reaches the count threshold, so no piece is split further",
                o.vocabulary.string());
    }
  }
  const auto bpe = std::make_shared<const text::Bpe>(text::Bpe::load(o.codes, std::move(o.bpe)));
  o.files.progress = "bpe";
  text::transform_lines(o.files, [&] { return text::bpe_transform(bpe); });
}

void add_apply(CLI::App& bpe) {
  auto* command = add_command(
      bpe, "apply", "cut the words of each line into sub-words",
      {"residual bpe apply --codes codes < test.tok.en > test.bpe.en",
       "# a new sample each epoch: leave out one merge in ten at random",
       "residual bpe apply --codes codes --dropout 0.1 --seed 3 train.tok.en -o train.3.bpe.en"});
  auto o = std::make_shared<ApplyOptions>();
  add_line_options(*command, o->files);
  command->add_option("-c,--codes", o->codes, "merges, as `residual bpe learn` writes them")
      ->required()
      ->type_name("FILE")
      ->group("Segmentation");
  command->add_option("-m,--merges", o->bpe.merges, "use only the first N merges; -1: all")
      ->capture_default_str()
      ->type_name("N")
      ->group("Segmentation");
  command
      ->add_option("-s,--separator", o->bpe.separator,
                   "mark at the end of every piece except the last of a word")
      ->capture_default_str()
      ->type_name("TEXT")
      ->group("Segmentation");
  auto* vocabulary =
      command
          ->add_option(
              "--vocabulary", o->vocabulary,
              "file of lines \"piece count\"; pieces that are not listed are split further")
          ->type_name("FILE")
          ->group("Segmentation");
  command
      ->add_option("--vocabulary-threshold", o->threshold,
                   "ignore pieces of --vocabulary with a smaller count")
      ->check(not_negative())
      ->capture_default_str()
      ->needs(vocabulary)
      ->type_name("N")
      ->group("Segmentation");
  command
      ->add_option("--glossaries", o->bpe.glossaries,
                   "words or regular expressions that are never split")
      ->type_name("TEXT")
      ->group("Segmentation");
  command
      ->add_option("--dropout", o->bpe.dropout, "probability of leaving out a merge (BPE-dropout)")
      ->capture_default_str()
      ->check(between(0, 1))
      ->type_name("P")
      ->group("Segmentation");
  command->add_option("--seed", o->bpe.seed, "random seed of --dropout")
      ->needs("--dropout")
      ->check(not_negative())
      ->capture_default_str()
      ->type_name("N")
      ->group("Segmentation");
  command->callback([o] { apply(*o); });
}

void add_undo(CLI::App& bpe) {
  struct Options {
    text::TransformLines files;
    std::string separator = "@@";
  };
  auto* command = add_command(bpe, "undo", "join sub-words into words",
                              {"residual bpe undo < test.bpe.en > test.tok.en"});
  auto o = std::make_shared<Options>();
  add_line_options(*command, o->files);
  command->add_option("-s,--separator", o->separator, "mark that `residual bpe apply` used")
      ->capture_default_str()
      ->type_name("TEXT")
      ->group("Segmentation");
  command->callback([o] {
    text::transform_lines(o->files, [o] {
      return
          [o](std::string_view line, std::string& out) { text::undo_bpe(line, o->separator, out); };
    });
  });
}

}  // namespace

void add_bpe(CLI::App& root) {
  auto* bpe =
      add_group(root, "bpe", "Sub-words by byte pair encoding, compatible with subword-nmt");
  add_learn(*bpe);
  add_apply(*bpe);
  add_undo(*bpe);
}

}  // namespace residual::cli
