#include "api/settings.h"

#include <iterator>
#include <sstream>
#include <vector>

#include "base/config.h"
#include "base/error.h"

namespace residual::api {
namespace {

struct Settings {
  int64_t threads = 0;
  decode::TranslatorOptions translator;
};

void fields(ConfigVisitor& visit, Settings& s) {
  constexpr double kMaxThreads = 1024;
  visit("threads", s.threads,
        "threads that translate and score; 0: one for each core that the process may use, as "
        "loading always takes",
        {.min = 0, .max = kMaxThreads});
  fields(visit, s.translator);
}

}  // namespace

decode::TranslatorOptions parse_settings(std::string_view words) {
  std::istringstream stream{std::string(words)};
  const std::vector<std::string> all{std::istream_iterator<std::string>(stream), {}};
  Settings settings;
  apply_settings(
      all, [&](ConfigVisitor& visit) { fields(visit, settings); }, "settings: ");
  decode::TranslatorOptions& o = settings.translator;
  require(!o.search.with_attention, "settings: with_attention has no reader here; leave it out");
  require(o.search.attention_layer == 0 || o.search.needs_attention() ||
              o.text.markup != text::Markup::none,
          "settings: attention_layer has no reader here either");
  decode::check_sampling(o.search.sampling);
  require(o.terms.empty() || !o.search.sampling.is_on, "settings: terms are not for sampling");
  o.crew.threads = static_cast<int>(settings.threads);
  decode::check(o.search);
  return o;
}

std::string explain_settings() { return explain_config<Settings>(); }

}  // namespace residual::api
