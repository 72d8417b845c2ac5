// residual vocabulary: builds a vocabulary in the format of fairseq's dict.txt.

#include "text/vocabulary.h"

#include <memory>

#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"

namespace residual::cli {
namespace {

struct Options {
  std::vector<fs::path> inputs{"-"};
  fs::path output = "-";
  text::Invalid invalid = text::Invalid::refuse;
  text::VocabularyRules rules;
};

void build(const Options& o) {
  text::LineWriter output(o.output);  // fails early if the name is wrong
  text::VocabularyBuilder builder;
  builder.merge(text::count_words(o.inputs, o.invalid, text::VocabularyBuilder::count_line));
  const text::Vocabulary vocabulary = builder.finish(o.rules);
  log::info("{} symbols", format_count(static_cast<uint64_t>(vocabulary.size())));
  output.write(vocabulary.format());
  output.commit();
}

void add_build(CLI::App& parent) {
  auto* command = add_command(
      parent, "build", "count the symbols of text; the vocabulary goes to standard output",
      {"residual vocabulary build train.bpe.en > dict.en.txt",
       "# joined: one vocabulary for both languages",
       "residual vocabulary build train.bpe.en train.bpe.de --output dict.txt"});
  auto o = std::make_shared<Options>();
  command->add_option("input", o->inputs, "text, symbols separated by white space")
      ->type_name("FILE")
      ->default_str("-")
      ->group("Input and output");
  command->add_option("-o,--output", o->output, "vocabulary to write; - is standard output")
      ->capture_default_str()
      ->type_name("FILE")
      ->group("Input and output");
  add_replace_invalid(*command, o->invalid, "Input and output");
  command
      ->add_option("--threshold", o->rules.threshold,
                   "leave out symbols that occur fewer than N times")
      ->check(not_negative())
      ->capture_default_str()
      ->type_name("N")
      ->group("Vocabulary");
  command
      ->add_option("--max-words", o->rules.max_words,
                   "keep the most frequent symbols, at most N ids including the four special "
                   "symbols and before padding; -1: all")
      ->capture_default_str()
      ->type_name("N")
      ->group("Vocabulary");
  command
      ->add_option("--multiple", o->rules.multiple,
                   "add filler symbols until the number of ids is a multiple of N")
      ->capture_default_str()
      ->check(whole(1, 1 << 20))
      ->type_name("N")
      ->group("Vocabulary");
  command->callback([o] { build(*o); });
}

}  // namespace

void add_vocabulary(CLI::App& root) {
  auto* vocabulary =
      add_group(root, "vocabulary", "Vocabularies in the format of fairseq's dict.txt");
  add_build(*vocabulary);
}

}  // namespace residual::cli
