// residual detokenize: joins tokens to running text, as Moses' detokenizer.perl does.

#include <memory>

#include "cli/command.h"
#include "cli/language.h"
#include "text/detokenizer.h"

namespace residual::cli {
namespace {

struct Options {
  text::TransformLines files{.progress = "detokenize"};
  std::string language = "en";
};

void run(const Options& o) {
  if (o.language != "ko") warn_of_unknown_language(o.language, "the general rules");
  const text::Detokenizer detokenizer(o.language);
  text::transform_lines(o.files, [&] { return std::cref(detokenizer); });
}

}  // namespace

void add_detokenize(CLI::App& root) {
  auto* command =
      add_command(root, "detokenize", "Join tokens to running text, as Moses does",
                  {"echo 'Don &apos;t panic , Dr. Dent .' | residual detokenize --lang en",
                   "# a translation, after joining its sub-words",
                   "echo 'Keine Pan@@ ik .' | residual bpe undo | residual detokenize --lang de"});
  const auto o = std::make_shared<Options>();
  add_language_option(*command, o->language);
  add_line_options(*command, o->files);
  command->callback([o] { run(*o); });
}

}  // namespace residual::cli
