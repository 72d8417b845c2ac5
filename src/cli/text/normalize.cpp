// residual normalize: normalises punctuation, removes non-printing characters and lower-cases, as
// the Moses scripts do.

#include <memory>

#include "cli/command.h"
#include "cli/language.h"
#include "text/normalizer.h"
#include "text/segmenter.h"

namespace residual::cli {
namespace {

struct Options {
  text::TransformLines files{.progress = "normalize"};
  std::string language = "en";
  bool punctuation = true;
  bool remove_non_printing = false;
  bool lowercase = false;
};

text::LineTransform transform(const Options& o) {
  std::vector<text::LineTransform> steps;
  if (o.punctuation) steps.emplace_back(text::PunctuationNormalizer(o.language));
  if (o.remove_non_printing) steps.emplace_back(text::remove_non_printing);
  if (o.lowercase) steps.emplace_back(text::lowercase);
  return text::chain(std::move(steps));
}

void run(const Options& o) {
  const bool other_name_of_czech = o.language == "cz";
  if (o.punctuation && !other_name_of_czech) {
    warn_of_unknown_language(o.language, "the general rules");
  }
  text::transform_lines(o.files, [&] { return transform(o); });
}

}  // namespace

void add_normalize(CLI::App& root) {
  auto* command = add_command(
      root, "normalize", "Normalise punctuation, as Moses does",
      {"echo '„Hallo“ – sagte er …' | residual normalize --lang de",
       "# the steps of the WMT recipes before tokenisation",
       "echo '« Oui »' | residual normalize --lang fr --remove-non-printing", "# lower-case only",
       "echo 'ÀÉ' | residual normalize --no-punctuation --lowercase"});
  const auto o = std::make_shared<Options>();
  add_language_option(*command, o->language);
  command
      ->add_flag_callback(
          "--no-punctuation", [o] { o->punctuation = false; }, "do not change punctuation")
      ->group("Rules");
  command
      ->add_flag("--remove-non-printing", o->remove_non_printing,
                 "replace each control, format, private-use or unassigned character by a space")
      ->group("Rules");
  command->add_flag("--lowercase", o->lowercase, "lower-case the text")->group("Rules");
  add_line_options(*command, o->files);
  command->callback([o] { run(*o); });
}

}  // namespace residual::cli
