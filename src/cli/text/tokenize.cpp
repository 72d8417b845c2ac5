// residual tokenize: splits words from punctuation, as Moses' tokenizer.perl does.

#include <memory>

#include "cli/command.h"
#include "cli/language.h"
#include "text/tokenizer.h"

namespace residual::cli {
namespace {

struct Options {
  text::TransformLines files{.progress = "tokenize"};
  text::TokenizerOptions tokenizer;
};

void run(const Options& o) {
  warn_of_unknown_language(o.tokenizer.language, "English abbreviations");
  const text::Tokenizer tokenizer(o.tokenizer);
  text::transform_lines(o.files, [&] { return std::cref(tokenizer); });
}

}  // namespace

void add_tokenize(CLI::App& root) {
  auto* command = add_command(
      root, "tokenize", "Split words from punctuation, as Moses does",
      {"echo \"Don't panic, Dr. Dent.\" | residual tokenize --lang en", "# as in the WMT recipes",
       "echo 'a well-known fact' | residual tokenize --lang en --aggressive"});
  const auto o = std::make_shared<Options>();
  add_language_option(*command, o->tokenizer.language);
  command
      ->add_flag("-a,--aggressive", o->tokenizer.aggressive,
                 "split hyphenated words: \"well @-@ known\"")
      ->group("Rules");
  command
      ->add_flag_callback(
          "--no-escape", [o] { o->tokenizer.escape = false; },
          "keep & | < > ' \" [ ] instead of writing entities such as &amp;")
      ->group("Rules");
  add_line_options(*command, o->files);
  command->callback([o] { run(*o); });
}

}  // namespace residual::cli
