#include "api/settings.h"

#include <iterator>
#include <sstream>
#include <vector>

#include "base/config.h"
#include "base/error.h"

namespace residual::api {
void fields(ConfigVisitor& visit, Settings& s) {
  constexpr double kMaxThreads = 1024;
  visit("threads", s.threads,
        "threads that translate and score; 0: one for each core that the process may use, as "
        "loading always takes",
        {.min = 0, .max = kMaxThreads});
  fields(visit, s.translator);
}

decode::TranslatorOptions checked(const Settings& settings) {
  decode::TranslatorOptions options = settings.translator;
  decode::check_sampling(options.search.sampling);
  require(options.terms.empty() || !options.search.sampling.is_on,
          "settings: terms are not for sampling");
  options.crew.threads = static_cast<int>(settings.threads);
  decode::check(options.search);
  return options;
}

decode::TranslatorOptions parse_settings(std::string_view words) {
  std::istringstream stream{std::string(words)};
  const std::vector<std::string> all{std::istream_iterator<std::string>(stream), {}};
  Settings settings;
  apply_settings(
      all, [&](ConfigVisitor& visit) { fields(visit, settings); }, "settings: ");
  const decode::SearchOptions& search = settings.translator.search;
  require(!search.with_attention, "settings: with_attention has no reader here; leave it out");
  require(search.attention_layer == 0 || search.needs_attention() ||
              settings.translator.text.markup != text::Markup::none,
          "settings: attention_layer has no reader here either");
  return checked(settings);
}

std::string explain_settings() { return explain_config<Settings>(); }

}  // namespace residual::api
