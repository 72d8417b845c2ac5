#include "cli/language.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "text/abbreviations.h"

namespace residual::cli {

void add_language_option(CLI::App& command, std::string& language) {
  command.add_option("-l,--lang", language, "language whose rules apply")
      ->capture_default_str()
      ->type_name("CODE")
      ->group("Rules");
}

void warn_of_unknown_language(const std::string& language, const std::string& instead) {
  if (text::Abbreviations::know(language)) return;
  log::warn("unknown language \"{}\", using {}; known: {}", language, instead,
            fmt::join(text::Abbreviations::languages(), " "));
}

}  // namespace residual::cli
