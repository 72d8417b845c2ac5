// residual sentences: writes each sentence of a text on a line of its own.

#include <memory>

#include "cli/command.h"
#include "cli/language.h"
#include "text/sentences.h"

namespace residual::cli {
namespace {

struct Options {
  text::TransformLines files{.progress = "sentences"};
  std::string language = "en";
};

void run(const Options& o) {
  warn_of_unknown_language(o.language, "English abbreviations");
  text::transform_lines(o.files, [&] {
    const auto split = std::make_shared<text::SentenceSplitter>(o.language);
    return [split](std::string_view line, std::string& out) {
      bool is_first = true;
      for (const auto sentence : (*split)(line)) {
        if (!std::exchange(is_first, false)) out += '\n';
        out += sentence;
      }
    };
  });
}

}  // namespace

void add_sentences(CLI::App& root) {
  auto* command = add_command(root, "sentences", "Write each sentence on a line of its own",
                              {"echo 'Dr. Dent slept. He woke.' | residual sentences --lang en"});
  const auto o = std::make_shared<Options>();
  add_language_option(*command, o->language);
  add_line_options(*command, o->files);
  command->callback([o] { run(*o); });
}

}  // namespace residual::cli
