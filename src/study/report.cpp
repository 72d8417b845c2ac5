#include "study/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/version.h"
#include "drawing/draw.h"
#include "study/paper.h"
#include "study/runs_csv.h"
#include "study/tables.h"

namespace residual::study {
namespace {

using report::Figure;
using report::Series;

// The runs of one depth and schedule, which share a figure.
struct Group {
  std::string id, title;
  std::vector<const Finding*> runs;
};

std::vector<Group> groups_of(const Findings& all) {
  std::vector<Group> groups;
  for (const auto& finding : all.cells) {
    const Cell& cell = finding.work.cell;
    std::string title = depth_name(all.kind(), all.plan.depths[cell.depth]);
    std::string id = depth_id(all.kind(), all.plan.depths[cell.depth]);
    if (!all.plan.schedules.empty()) title += ", " + all.plan.schedules[cell.schedule].name;
    auto at = std::ranges::find(groups, title, &Group::title);
    if (at == groups.end()) {
      if (!all.plan.schedules.empty()) id += "-" + all.plan.schedules[cell.schedule].name;
      groups.push_back({id, title});
      at = groups.end() - 1;
    }
    at->runs.push_back(&finding);
  }
  return groups;
}

// A scheme has the same colour in all figures; names distinguish seeds.
Series series_of(const Findings& all, const Finding& run) {
  const Cell& cell = run.work.cell;
  std::string name = label_of(all.plan.schemes[cell.scheme]);
  if (all.plan.seeds.size() > 1) name += fmt::format(", seed {}", all.plan.seeds[cell.seed]);
  return {.name = name, .colour = static_cast<int>(cell.scheme)};
}

Figure curve_figure(const Findings& all, const Group& group, bool dev) {
  Figure f{.id = fmt::format("{}-{}", dev ? "dev" : "train", group.id),
           .section = dev ? "Dev perplexity" : "Training perplexity",
           .title = group.title,
           .x_label = "update",
           .y_label = "perplexity per target token",
           .log_y = true};
  double unigram = 0, last = 0;
  for (const Finding* run : group.runs) {
    const Series& curve = dev ? run->record.dev : run->record.train;
    Series series = series_of(all, *run);
    series.x = curve.x;
    for (const double nll : curve.y) series.y.push_back(std::exp2(nll));
    if (run->result) unigram = run->result->unigram;
    if (!series.x.empty()) last = std::max(last, series.x.back());
    f.series.push_back(std::move(series));
  }
  if (dev && unigram > 0 && last > 0) {
    const double level = std::exp2(unigram);
    f.series.push_back({.name = "word frequencies",
                        .x = {0, last},
                        .y = {level, level},
                        .dashed = true,
                        .colour = 7});
    f.note = "A run that ends above the dashed line has not converged.";
  }
  return f;
}

// Dev perplexity of one scheme: a row for each schedule, a column for each depth; the geometric
// mean over seeds. A run whose loss was not finite leaves its cell without a value.
Figure perplexity_map(const Findings& all, size_t scheme) {
  const Plan& plan = all.plan;
  Figure f{.id = fmt::format("map-{}", plan.schemes[scheme].name),
           .section = "Dev perplexity by schedule and depth",
           .title = label_of(plan.schemes[scheme]),
           .x_label = "dev perplexity of the scored model, mean over seeds"};
  if (!plan.schemes[scheme].variant.empty()) f.id += "-" + plan.schemes[scheme].variant;
  for (const auto& schedule : plan.schedules) f.row_labels.push_back(schedule.name);
  for (const int64_t layers : plan.depths)
    f.column_labels.push_back(depth_name(all.kind(), layers));
  std::vector<std::vector<std::vector<double>>> nll(
      plan.schedules.size(), std::vector<std::vector<double>>(plan.depths.size()));
  for (const auto& finding : all.cells) {
    const Cell& cell = finding.work.cell;
    if (cell.scheme == scheme && finding.result) {
      nll[cell.schedule][cell.depth].push_back(finding.result->dev_nll);
    }
  }
  for (const auto& row : nll) {
    auto& out = f.matrix.emplace_back();
    for (const auto& seeds : row) {  // 0 / 0 without seeds: NaN
      const double sum = std::accumulate(seeds.begin(), seeds.end(), 0.0);
      out.push_back(std::exp2(sum / static_cast<double>(seeds.size())));
    }
  }
  return f;
}

// The measurements of each run's last live probe, by block.
Figure probe_figure(const Findings& all, const Group& group, const std::string& side,
                    bool gradients) {
  Figure f{.id = fmt::format("{}-{}-{}", gradients ? "gradients" : "changes", side, group.id),
           .section = gradients ? "Gradients at the end" : "Change between blocks at the end",
           .title = fmt::format("{}, {}", group.title, side),
           .x_label = "block k",
           .y_label = gradients ? "norm of the block's gradient" : "mean |x(k+1) - x(k)|",
           .log_y = gradients};
  for (const Finding* run : group.runs) {
    if (run->record.probes.empty()) continue;
    const ProbeLine& line = run->record.probes.back();
    const auto at = std::ranges::find(line.sides, side);
    if (at == line.sides.end()) continue;
    const auto place = static_cast<size_t>(at - line.sides.begin());
    Series series = series_of(all, *run);
    Series values = report::counted("", (gradients ? line.gradients : line.changes)[place]);
    series.x = std::move(values.x);
    series.y = std::move(values.y);
    f.series.push_back(std::move(series));
  }
  return f;
}

void add_figures(const Findings& all, report::Report& report) {
  const auto add = [&](Figure figure) {
    const bool drawn =
        std::ranges::any_of(figure.series, [](const Series& s) { return !s.x.empty(); });
    if (drawn) report.figures.push_back(std::move(figure));
  };
  if (all.plan.schedules.size() > 1) {
    for (size_t s = 0; s < all.plan.schemes.size(); ++s) {
      report.figures.push_back(perplexity_map(all, s));
    }
  }
  const auto groups = groups_of(all);
  for (const bool dev : {true, false}) {
    for (const auto& group : groups) add(curve_figure(all, group, dev));
  }
  for (const bool gradients : {true, false}) {
    for (const auto& group : groups) {
      for (const char* side : {"encoder", "decoder"}) {
        add(probe_figure(all, group, side, gradients));
      }
    }
  }
}

// Each scheme once, whatever else its rows differ in.
void add_drawings(const Findings& all, report::Report& report) {
  for (size_t s = 0; s < all.plan.schemes.size(); ++s) {
    const auto cell = std::ranges::find_if(
        all.cells, [&](const Finding& finding) { return finding.work.cell.scheme == s; });
    if (cell == all.cells.end()) continue;
    std::string svg = drawing::draw(cell->work.cell.config.model.residual);
    if (std::ranges::count(report.drawings, svg, &report::Drawing::svg) > 0) continue;
    report.drawings.push_back({.id = fmt::format("scheme-{}", s + 1),
                               .section = "What two layers of each scheme compute",
                               .title = label_of(all.plan.schemes[s]),
                               .svg = std::move(svg)});
  }
}

std::string count_of(const Findings& all) {
  const auto done =
      std::ranges::count_if(all.cells, [](const Finding& f) { return f.result.has_value(); });
  const auto failed = std::ranges::count_if(
      all.cells, [](const Finding& f) { return f.result && !f.result->converged; });
  return fmt::format("{} of {} done, {} of them did not converge", done, all.cells.size(), failed);
}

constexpr const char* kTableNote =
    "BLEU on the test set; over seeds the mean and the sample standard deviation. Fail: did not "
    "converge, which docs/commands/study.md defines.";
constexpr const char* kTextNote =
    "Perplexity per token of the test text, lower is better; over seeds the mean and the sample "
    "standard deviation. Fail: did not converge, which docs/commands/study.md defines.";

}  // namespace

report::Report make_report(const Findings& all) {
  const Plan& plan = all.plan;
  const run::TrainConfig& config = all.cells[0].work.cell.config;
  report::Report report{.title = plan.description.empty() ? plan.name() : plan.description};
  report.facts = {{"plan", plan.file.string()},
                  {"corpus", config.data.prepared},
                  {"runs", count_of(all)},
                  {"reported by", fmt::format("ResiDual {} ({})", version(), commit())}};
  for (const auto& finding : all.cells) {
    if (!finding.result) continue;
    if (all.is_translation()) report.facts.emplace_back("BLEU", finding.result->signature);
    report.facts.emplace_back("perplexity of word frequencies",
                              fmt::format("{:.1f}", std::exp2(finding.result->unigram)));
    break;
  }
  for (const int64_t number : plan.tables) {
    report.tables.push_back(paper_table(*find_table(number), all));
  }
  if (plan.tables.empty()) report.tables.push_back(grid_table(all));
  std::string note = all.is_translation() ? kTableNote : kTextNote;
  if (!plan.baseline.empty()) {
    note += fmt::format(
        " *: differs from {} with p < 0.05 over all test sets together (paired bootstrap, {} "
        "samples).",
        plan.baseline, plan.evaluate.samples);
  }
  for (auto& table : report.tables) table.note = note;
  report.tables.push_back(perplexity_table(all));
  report.tables.push_back(run_table(all));
  add_figures(all, report);
  add_drawings(all, report);
  report.tables.push_back(command_table(all));
  return report;
}

fs::path write_report(const Findings& all) {
  const fs::path directory = all.output / "report" / all.plan.name();
  using report::Format;
  report::write_report(make_report(all),
                       {Format::html, Format::csv, Format::json, Format::svg, Format::markdown},
                       directory);
  replace_file(directory / "runs.csv", runs_csv(all));
  return directory;
}

}  // namespace residual::study
