#include "api/settings.h"

#include <sstream>

#include "base/config.h"
#include "base/error.h"

namespace residual::api {
namespace {

struct Settings {
  int64_t threads = 0;
  std::string shortlist, terms;
  decode::TranslatorOptions translator;
};

void fields(ConfigVisitor& visit, Settings& s) {
  constexpr double kMaxThreads = 1024;
  visit.choice("precision", s.translator.precision, {"fp32", "fp16", "int8"},
               "of the matrices; never more than a model was exported with");
  visit("threads", s.threads,
        "that translate and score; 0: one for each core the process may use, as loading always has",
        {.min = 0, .max = kMaxThreads});
  visit("source", s.translator.source, "source language, if the model has several");
  visit("target", s.translator.target, "target language, if the model has several");
  visit("pieces", s.translator.pieces,
        "lines are segmented already: pieces between spaces, in and out");
  visit.choice("long_lines", s.translator.long_lines, {"split", "refuse"},
               "lines with more tokens than the model has positions");
  visit("batch_tokens", s.translator.crew.batch_tokens,
        "source tokens that one thread works on at a time, at most", {.min = 1});
  visit("batch_sentences", s.translator.crew.batch_sentences,
        "sentences that one thread works on at a time, at most; 0: by the beam", {.min = 0});
  visit("shortlist", s.shortlist,
        "file of symbols that translations may consist of; see residual shortlist");
  visit("shortlist_frequent", s.translator.shortlist.frequent,
        "so many of the vocabulary's first symbols beside it", {.min = 0});
  visit("shortlist_best", s.translator.shortlist.best,
        "at most so many translations of each source symbol", {.min = 0});
  visit("terms", s.terms, "file of terms, \"source<tab>target\", that translations keep to");
  fields(visit, s.translator.search);
}

}  // namespace

decode::TranslatorOptions parse_settings(std::string_view words) {
  std::istringstream stream{std::string(words)};
  Settings settings;
  for (std::string word; stream >> word;) {
    apply_setting(
        word, [&](ConfigVisitor& visit) { fields(visit, settings); }, "settings: ");
  }
  decode::TranslatorOptions& o = settings.translator;
  require(!o.search.with_attention, "settings: with_attention has no reader here; leave it out");
  require(o.search.attention_layer == 0 || o.search.needs_attention(),
          "settings: attention_layer has no reader here either");
  decode::check_sampling(o.search.sampling);
  o.shortlist.file = settings.shortlist;
  o.terms = settings.terms;
  require(o.terms.empty() || !o.search.sampling.is_on, "settings: terms are not for sampling");
  o.crew.threads = static_cast<int>(settings.threads);
  decode::check(o.search);
  return o;
}

std::string explain_settings() { return explain_config<Settings>(); }

}  // namespace residual::api
