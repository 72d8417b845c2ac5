#include "cli/evaluate/scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/progress.h"
#include "text/abbreviations.h"

namespace residual::cli {
namespace {

using nlohmann::ordered_json;

// Directions that have a mean.
struct Group {
  const char* key;
  const char* name;
  bool (*has)(const data::LanguagePair&);
};

bool is_english(const std::string& language) { return text::without_region(language) == "en"; }

constexpr Group kGroups[] = {
    {"from_english", "from English",
     [](const data::LanguagePair& pair) { return is_english(pair.source); }},
    {"to_english", "to English",
     [](const data::LanguagePair& pair) { return is_english(pair.target); }},
    {"without_english", "without English",
     [](const data::LanguagePair& pair) {
       return !is_english(pair.source) && !is_english(pair.target);
     }},
    {"all", "all", [](const data::LanguagePair&) { return true; }},
};

struct Means {
  const Group* group;
  size_t directions = 0;
  std::vector<double> scores;  // of each metric
};

// Every direction counts the same, however many sentences it has.
std::vector<Means> means_of(const std::vector<TestScores>& tests) {
  std::vector<Means> all;
  for (const Group& group : kGroups) {
    Means means{.group = &group, .scores = std::vector<double>(tests[0].reports.size())};
    for (const auto& test : tests) {
      if (!group.has(test.languages)) continue;
      ++means.directions;
      for (size_t m = 0; m < means.scores.size(); ++m) means.scores[m] += test.reports[m].score;
    }
    for (double& score : means.scores) score /= static_cast<double>(means.directions);
    if (means.directions > 0) all.push_back(std::move(means));
  }
  return all;
}

ordered_json json_of(const Work& work) {
  return {{"sentences", work.sentences},
          {"source_tokens", work.source_tokens},
          {"tokens", work.tokens},
          {"seconds", work.seconds},
          {"sentences_per_second", static_cast<double>(work.sentences) / work.seconds},
          {"tokens_per_second", static_cast<double>(work.tokens) / work.seconds}};
}

std::string speed_line(const Work& work, double load_seconds) {
  return fmt::format(
      "{} sentences, {} tokens in {:.2f} s: {:.1f} sentences/s, {:.0f} tokens/s; loaded in {:.2f} "
      "s\n",
      format_count(work.sentences), format_count(work.tokens), work.seconds,
      static_cast<double>(work.sentences) / work.seconds,
      static_cast<double>(work.tokens) / work.seconds, load_seconds);
}

Work sum_of(const std::vector<TestScores>& tests) {
  Work sum;
  for (const auto& test : tests) {
    sum.sentences += test.work.sentences;
    sum.source_tokens += test.work.source_tokens;
    sum.tokens += test.work.tokens;
    sum.seconds += test.work.seconds;
  }
  return sum;
}

std::string all_as_json(const std::vector<TestScores>& tests, double load_seconds,
                        const metrics::ReportOptions& options) {
  ordered_json directions = ordered_json::array(), means = ordered_json::object();
  for (const auto& test : tests) {
    ordered_json direction = {
        {"from", test.languages.source},
        {"to", test.languages.target},
        {"scores", ordered_json::parse(metrics::format_scores(test.reports, options))}};
    direction.update(json_of(test.work));
    directions.push_back(std::move(direction));
  }
  for (const auto& mean : means_of(tests)) {
    ordered_json& entry = means[mean.group->key] = {{"directions", mean.directions}};
    for (size_t m = 0; m < mean.scores.size(); ++m) {
      entry[tests[0].reports[m].name] =
          std::stod(fmt::format("{:.{}f}", mean.scores[m], options.width));
    }
  }
  ordered_json out = {{"directions", std::move(directions)}, {"means", std::move(means)}};
  out.update(json_of(sum_of(tests)));
  out["load_seconds"] = load_seconds;
  return out.dump(2) + "\n";
}

}  // namespace

std::string one_direction(const TestScores& test, double load_seconds,
                          const metrics::ReportOptions& options) {
  std::string scores = metrics::format_scores(test.reports, options);
  if (options.json) {
    ordered_json out = {{"scores", ordered_json::parse(scores)}};
    out.update(json_of(test.work));
    out["load_seconds"] = load_seconds;
    return out.dump(2) + "\n";
  }
  if (!scores.ends_with('\n')) scores += '\n';
  return scores + speed_line(test.work, load_seconds);
}

std::string all_directions(const std::vector<TestScores>& tests, double load_seconds,
                           const metrics::ReportOptions& options) {
  if (options.json) return all_as_json(tests, load_seconds, options);
  std::string text;
  const auto row = [&](const std::string& name, const std::string& count) {
    text += fmt::format("{:<24}{:>10}", name, count);
  };
  const auto number = [&](double score) {
    text += fmt::format("{:>{}}", fmt::format("{:.{}f}", score, options.width), 7 + options.width);
  };
  row("direction", "sentences");
  for (const auto& report : tests[0].reports) {
    text += fmt::format("{:>{}}", report.name, 7 + options.width);
  }
  for (const auto& test : tests) {
    text += '\n';
    row(test.languages.name(), format_count(test.work.sentences));
    for (const auto& report : test.reports) number(report.score);
  }
  text += fmt::format("\n\n{:<24}{:>10}", "mean", "directions");
  for (const auto& mean : means_of(tests)) {
    text += '\n';
    row(mean.group->name, format_count(mean.directions));
    for (const double score : mean.scores) number(score);
  }
  text += "\n\n";
  for (const auto& report : tests[0].reports) {
    text += fmt::format("{}|{}\n", report.name, report.signature.text(options.abbreviated));
  }
  return text + speed_line(sum_of(tests), load_seconds);
}

}  // namespace residual::cli
