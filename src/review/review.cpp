#include "review/review.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/progress.h"
#include "drawing/draw.h"
#include "review/summary.h"
#include "run/memory.h"
#include "run/run_directory.h"

namespace residual::review {
namespace {

using report::Figure;
using report::Message;
using report::Series;
using report::TextTable;

constexpr const char *kOverview = "Runs", *kCurves = "Learning curves", *kGradients = "Gradients",
                     *kRate = "Learning rate and speed", *kSamples = "Validation samples",
                     *kScheme = "Residual scheme";
constexpr size_t kPoints = 1500;     // of a line; more than a chart has pixels
constexpr size_t kProfiles = 4;      // updates whose blocks are compared
constexpr size_t kShownUpdates = 3;  // translations of a sentence

// Every n-th point, and always the last.
Series thinned(std::string name, const Curve& curve, int colour = -1) {
  Series series{.name = std::move(name), .x = {}, .y = {}, .colour = colour};
  const size_t step = 1 + curve.size() / kPoints;
  for (size_t i = (curve.size() + step - 1) % step; i < curve.size(); i += step) {
    series.x.push_back(curve.update[i]);
    series.y.push_back(curve.value[i]);
  }
  return series;
}

// Where a figure belongs and how it is drawn; the lines come from curves.
struct Kind {
  const char *id, *section, *title, *y_label;
  std::vector<std::pair<std::string, std::string>> lines;  // key of the curve, name of the line
  bool log_y = false, from_zero = true;
  const char* note = "";
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {.id = "loss",
       .section = kCurves,
       .title = "Loss",
       .y_label = "bits per token, smoothed",
       .lines = {{"train/loss", "training"}, {"valid/loss", "dev"}},
       .from_zero = false,
       .note = "With label smoothing. Dropout is active in training and not on the dev corpora, so "
               "that the dev loss is often the lower one at first."},
      {.id = "perplexity",
       .section = kCurves,
       .title = "Perplexity",
       .y_label = "perplexity",
       .lines = {{"train/perplexity", "training"}, {"valid/perplexity", "dev"}},
       .log_y = true},
      {.id = "bleu",
       .section = kCurves,
       .title = "BLEU of the dev corpora",
       .y_label = "BLEU",
       .lines = {{"valid/bleu", "dev"}}},
      {.id = "gradient-norm",
       .section = kGradients,
       .title = "Gradient norm",
       .y_label = "norm before clipping",
       .lines = {{"train/gradient_norm", "mean"}},
       .log_y = true},
      {.id = "encoder-gradients",
       .section = kGradients,
       .title = "Gradients in the encoder",
       .y_label = "mean norm of a block's gradient",
       .lines = {{"probe/encoder_gradient_low", "lowest third of blocks"},
                 {"probe/encoder_gradient_high", "highest third of blocks"}},
       .log_y = true},
      {.id = "decoder-gradients",
       .section = kGradients,
       .title = "Gradients in the decoder",
       .y_label = "mean norm of a block's gradient",
       .lines = {{"probe/decoder_gradient_low", "lowest third of blocks"},
                 {"probe/decoder_gradient_high", "highest third of blocks"}},
       .log_y = true},
      {.id = "changes",
       .section = kGradients,
       .title = "Change of the representations in the highest third of blocks",
       .y_label = "mean |x(k+1) - x(k)|, normalised",
       .lines = {{"probe/encoder_change_high", "encoder"},
                 {"probe/decoder_change_high", "decoder"}}},
      {.id = "learning-rate",
       .section = kRate,
       .title = "Learning rate",
       .y_label = "learning rate",
       .lines = {{"train/learning_rate", "learning rate"}}},
      {.id = "loss-scale",
       .section = kRate,
       .title = "Scale of the loss (fp16)",
       .y_label = "factor",
       .lines = {{"train/loss_scale", "factor"}},
       .log_y = true,
       .note = "An overflow halves the factor; it doubles after loss_scale.window updates without "
               "one."},
      {.id = "speed",
       .section = kRate,
       .title = "Speed",
       .y_label = "target tokens per second",
       .lines = {{"speed/tokens_per_second", "tokens per second"}}}};
  return all;
}

Figure empty_figure(const Kind& kind) {
  return {.id = kind.id,
          .section = kind.section,
          .title = kind.title,
          .x_label = "update",
          .y_label = kind.y_label,
          .log_y = kind.log_y,
          .from_zero = kind.from_zero,
          .note = kind.note};
}

// The gradient of each block at some updates, the first and the last among them.
void add_profiles(const Records& run, std::vector<Figure>& figures) {
  for (const auto& [side, probes] : run.gradients) {
    Figure figure{.id = side + "-blocks",
                  .section = kGradients,
                  .title = fmt::format("Gradient of each block of the {}", side),
                  .x_label = "block k, bottom to top",
                  .y_label = "norm of the block's gradient",
                  .log_y = true};
    std::set<size_t> shown;
    for (size_t i = 0; i < kProfiles; ++i) shown.insert(i * (probes.size() - 1) / (kProfiles - 1));
    for (const size_t i : shown) {
      figure.series.push_back(report::counted(
          "update " + format_count(static_cast<uint64_t>(probes[i].update)), probes[i].norms));
    }
    figures.push_back(std::move(figure));
  }
}

std::string warning_text(const Finding& finding, const std::string& run) {
  return run.empty() ? finding.text : run + ": " + finding.text;
}

// `run` names the run where there are several.
void add_messages(const Summary& summary, const std::string& run, report::Report& report) {
  for (const Finding& finding : summary.findings) {
    const bool is_problem = finding.severity == Severity::problem;
    report.messages.push_back(
        {is_problem ? Message::Kind::problem : Message::Kind::note, warning_text(finding, run)});
  }
}

TextTable samples_of(const Records& run) {
  const auto& all = run.samples;
  std::set<size_t> shown;
  for (size_t i = 0; i < kShownUpdates; ++i)
    shown.insert(i * (all.size() - 1) / (kShownUpdates - 1));
  TextTable table{.id = "samples",
                  .section = kSamples,
                  .title = "Dev sentences as the model translates them",
                  .columns = {"sentence", "text"},
                  .note =
                      "Chosen by their place in the dev corpora, not by quality. `residual "
                      "translate` translates more."};
  for (size_t s = 0; s < all.back().sentences.size(); ++s) {
    const auto& sentence = all.back().sentences[s];
    table.rows.push_back({{fmt::format("{} source", s + 1)}, {sentence.source}});
    table.rows.push_back({{fmt::format("{} reference", s + 1)}, {sentence.reference}});
    for (const size_t i : shown) {
      if (s >= all[i].sentences.size()) continue;
      const std::string update = format_count(static_cast<uint64_t>(all[i].update));
      table.rows.push_back(
          {{fmt::format("{} at update {}", s + 1, update)}, {all[i].sentences[s].hypothesis}});
    }
  }
  return table;
}

std::string layers(const model::Config& m) {
  const auto stack = [](char letter, int64_t n) {
    return n > 0 ? fmt::format("{}{}", letter, n) : "";
  };
  return stack('E', m.encoder_layers) + stack('D', m.decoder_layers);
}

std::vector<std::pair<std::string, std::string>> facts_of(const Records& run, const Summary& s) {
  std::vector<std::pair<std::string, std::string>> facts = {{"State", describe(s)}};
  if (run.config) {
    const run::TrainConfig& c = *run.config;
    if (!c.description.empty()) facts.emplace_back("Recipe", c.description);
    facts.emplace_back(
        "Model", fmt::format("{}, {}, width {}, {} heads, inner width {}", c.model.residual.name,
                             layers(c.model), c.model.width, c.model.heads, c.model.inner));
    if (!c.data.prepared.empty()) facts.emplace_back("Corpus", c.data.prepared);
    facts.emplace_back("Schedule",
                       fmt::format("{}, peak {:g}, warm-up {}", name_of(c.schedule.kind),
                                   c.schedule.peak, c.schedule.warmup));
  }
  double seconds = 0;
  for (const double value : run.curve("speed/seconds").value) seconds += value;
  if (seconds > 0) facts.emplace_back("Time of updates", format_duration(seconds));
  const Curve& memory = run.curve("speed/peak_memory_bytes");
  if (!memory.empty()) {
    facts.emplace_back("Memory at most",
                       run::format_memory(static_cast<int64_t>(memory.value.back())));
  }
  return facts;
}

std::string shown(const std::optional<double>& value, const char* form) {
  return value ? fmt::format(fmt::runtime(form), *value) : "";
}

}  // namespace

report::Report report_of(const Records& run) {
  const Summary summary = summary_of(run);
  report::Report report{.title = "Training of " + run.name, .facts = facts_of(run, summary)};
  report.sections = {kCurves, kSamples, kGradients, kRate};
  add_messages(summary, "", report);
  if (report.messages.empty())
    report.messages.push_back({Message::Kind::good, "Nothing unusual in the records so far."});
  for (const Kind& kind : kinds()) {
    Figure figure = empty_figure(kind);
    for (size_t i = 0; i < kind.lines.size(); ++i) {
      const Curve& curve = run.curve(kind.lines[i].first);
      if (curve.empty()) continue;
      figure.series.push_back(thinned(kind.lines[i].second, curve, static_cast<int>(i)));
    }
    if (!figure.series.empty()) report.figures.push_back(std::move(figure));
  }
  add_profiles(run, report.figures);
  if (run.config) {
    report.drawings.push_back({.id = "scheme",
                               .section = kScheme,
                               .title = "What two layers of the scheme compute",
                               .svg = drawing::draw(run.config->model.residual)});
  }
  if (!run.samples.empty() && !run.samples.back().sentences.empty())
    report.tables.push_back(samples_of(run));
  return report;
}

report::Report compare(const std::vector<Records>& runs) {
  report::Report report{.title = fmt::format("{} runs", runs.size()), .facts = {}};
  report.sections = {kOverview, kCurves, kGradients, kRate};
  TextTable table{.id = "runs",
                  .section = kOverview,
                  .title = "Best and latest values",
                  .columns = {"run", "scheme", "state", "update", "training loss",
                              "best dev perplexity", "best BLEU", "tokens/s", "problems"}};
  for (const Records& run : runs) {
    const Summary s = summary_of(run);
    add_messages(s, run.name, report);
    table.rows.push_back({{s.name},
                          {s.scheme},
                          {name_of(s.state)},
                          {format_count(static_cast<uint64_t>(s.update))},
                          {shown(s.loss, "{:.3f}")},
                          {shown(s.perplexity, "{:.4g}")},
                          {shown(s.bleu, "{:.1f}")},
                          {shown(s.tokens_per_second, "{:.0f}")},
                          {std::to_string(s.problems())}});
  }
  report.tables.push_back(std::move(table));
  for (const Records& run : runs) {
    if (!run.config) continue;
    const auto& scheme = run.config->model.residual;
    std::string svg = drawing::draw(scheme);
    if (std::ranges::count(report.drawings, svg, &report::Drawing::svg) > 0) continue;
    report.drawings.push_back({.id = "scheme-" + std::to_string(report.drawings.size() + 1),
                               .section = kScheme,
                               .title = "What two layers of " + scheme.name + " compute",
                               .svg = std::move(svg)});
  }
  for (const Kind& kind : kinds()) {
    for (const auto& [key, name] : kind.lines) {
      Figure figure = empty_figure(kind);
      if (kind.lines.size() > 1) {
        figure.id += "-" + std::string(1, name[0]);
        figure.title += ": " + name;
        figure.note = "";
      }
      for (size_t i = 0; i < runs.size(); ++i) {
        const Curve& curve = runs[i].curve(key);
        if (!curve.empty())
          figure.series.push_back(thinned(runs[i].name, curve, static_cast<int>(i)));
      }
      if (!figure.series.empty()) report.figures.push_back(std::move(figure));
    }
  }
  return report;
}

void write_report(const fs::path& run) {
  replace_file(run / run::kReport, report::to_html(report_of(read_records(fs::absolute(run)))));
}

}  // namespace residual::review
