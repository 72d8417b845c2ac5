// Every figure of score.expected.json and odd.expected.json, which sacreBLEU 2.6.0 computed.

#include "metrics/fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/config.h"
#include "base/parallel.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/ter.h"
#include "support/paths.h"

namespace residual::metrics {
namespace {

using Json = nlohmann::json;
using test::has;
using test::lines_of;

constexpr double kExact = 1e-11;

Json expected(const std::string& name) {
  return Json::parse(read_file(fs::path(residual::test::fixtures()) / "metrics" / name));
}

// The metric a signature describes.
BleuOptions bleu_options(const std::string& signature) {
  BleuOptions options{.lowercase = has(signature, "case:lc")};
  for (const auto& name : all_names<BleuTokenizer>()) {
    if (has(signature, "tok:" + name + "|")) options.tokenizer = named<BleuTokenizer>("tok", name);
  }
  for (const auto& name : all_names<Smoothing>()) {
    if (has(signature, "smooth:" + name)) options.smoothing = named<Smoothing>("smooth", name);
  }
  return options;
}

std::unique_ptr<Metric> metric_of(const Json& result) {
  const std::string metric = result["metric"], signature = result["signature"];
  if (metric == "BLEU") return std::make_unique<Bleu>(bleu_options(signature));
  if (metric == "TER") {
    return std::make_unique<Ter>(TerOptions{.normalized = has(signature, "norm:yes"),
                                            .case_sensitive = has(signature, "case:mixed")});
  }
  return std::make_unique<Chrf>(ChrfOptions{.word_order = has(signature, "nw:2") ? 2 : 0,
                                            .lowercase = has(signature, "case:lc")});
}

// The fixture was made with a local build of the same release.
std::string without_local(std::string signature) {
  const size_t at = signature.find("+local");
  return at == std::string::npos ? signature : signature.erase(at, 6);
}

void expect_bleu(const Json& result, const BleuScore& score) {
  EXPECT_EQ(score.text(), result["text"]);
  EXPECT_EQ(score.counts, result["counts"].get<std::vector<double>>());
  EXPECT_EQ(score.totals, result["totals"].get<std::vector<double>>());
  EXPECT_EQ(score.hypothesis_length, result["sys_len"]);
  EXPECT_EQ(score.reference_length, result["ref_len"]);
  EXPECT_NEAR(score.brevity_penalty, result["bp"], kExact);
  for (size_t n = 0; n < 4; ++n) EXPECT_NEAR(score.precisions[n], result["precisions"][n], kExact);
}

TEST(Fixture, EveryCorpusFigureCountAndSignatureIsSacrebleus) {
  const References references{lines_of("score.ref")};
  int compared = 0;
  const Json file = expected("score.expected.json");
  for (const Json& result : file["results"]) {
    if (result["metric"] == "sentence-BLEU") continue;
    SCOPED_TRACE(result["hyp"].get<std::string>() + " " + result["signature"].get<std::string>());
    const Lines hypotheses = lines_of("score.hyp-" + result["hyp"].get<std::string>());
    const auto metric = metric_of(result);
    const auto sums = metric->statistics(hypotheses, references).sum();
    EXPECT_NEAR(metric->score(sums), result["score"], kExact);
    EXPECT_EQ(metric->name(), result["metric"]);
    EXPECT_EQ(metric->signature(1).text(), without_local(result["signature"]));
    EXPECT_EQ(metric->signature(1).text(true), without_local(result["short"]));
    if (const auto* bleu = dynamic_cast<const Bleu*>(metric.get())) {
      expect_bleu(result, bleu->bleu(sums));
    } else {
      EXPECT_EQ(fmt::format("{} = {:.2f}", metric->name(), metric->score(sums)), result["text"]);
    }
    ++compared;
  }
  EXPECT_GE(compared, 40);
}

TEST(Fixture, EverySentenceBleuIsSacrebleus) {
  const Lines reference = lines_of("score.ref");
  const Json file = expected("score.expected.json");
  int compared = 0;
  for (const Json& result : file["results"]) {
    if (result["metric"] != "sentence-BLEU") continue;
    const Lines hypotheses = lines_of("score.hyp-" + result["hyp"].get<std::string>());
    ASSERT_EQ(result["scores"].size(), hypotheses.size());
    for (size_t i = 0; i < hypotheses.size(); ++i) {
      EXPECT_NEAR(sentence_bleu(hypotheses[i], {reference[i]}).score, result["scores"][i], kExact);
    }
    ++compared;
  }
  EXPECT_EQ(compared, 4);
}

std::unique_ptr<Metric> odd_metric(const std::string& metric, const Json& options) {
  const auto flag = [&](const char* name) { return options.value(name, false); };
  if (metric == "BLEU") {
    BleuOptions bleu{
        .tokenizer = named<BleuTokenizer>("tok", options["tokenize"].get<std::string>()),
        .lowercase = flag("lowercase"),
        .smoothing = named<Smoothing>("smooth", options.value("smooth_method", "exp")),
        .effective_order = true};
    if (options.contains("smooth_value")) bleu.smoothing_value = options["smooth_value"];
    return std::make_unique<Bleu>(bleu);
  }
  if (metric == "TER") {
    return std::make_unique<Ter>(TerOptions{.normalized = flag("normalized"),
                                            .no_punct = flag("no_punct"),
                                            .asian_support = flag("asian_support"),
                                            .case_sensitive = flag("case_sensitive")});
  }
  return std::make_unique<Chrf>(ChrfOptions{.word_order = options["word_order"],
                                            .lowercase = flag("lowercase"),
                                            .whitespace = flag("whitespace"),
                                            .eps_smoothing = flag("eps_smoothing")});
}

TEST(Fixture, OddTextWithTwoReferencesScoresAsSacrebleuLineByLine) {
  const Lines hypotheses = lines_of("odd.hyp");
  const References references{lines_of("odd.ref0"), lines_of("odd.ref1")};
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    for (const Json& result : expected("odd.expected.json")) {
      SCOPED_TRACE(result["signature"].get<std::string>());
      const auto metric = odd_metric(result["metric"], result["options"]);
      const Statistics statistics = metric->statistics(hypotheses, references);
      ASSERT_EQ(statistics.rows(), result["lines"].size());
      for (size_t i = 0; i < statistics.rows(); ++i) {
        EXPECT_NEAR(metric->score(statistics.row(i)), result["lines"][i], kExact)
            << "line " << i + 1;
      }
      EXPECT_NEAR(metric->score(statistics.sum()), result["corpus"], kExact);
      EXPECT_EQ(metric->signature(2).text(), result["signature"]);
    }
  }
}

}  // namespace
}  // namespace residual::metrics
