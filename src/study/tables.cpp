#include "study/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/progress.h"
#include "schemes/registry.h"

namespace residual::study {
namespace {

using report::TextCell;
using report::TextTable;

constexpr size_t kNone = static_cast<size_t>(-1);
constexpr const char* kNothing = "–";

template <class List, class Key, class Member>
size_t place_of(const List& list, const Key& key, Member member) {
  const auto found = std::ranges::find(list, key, member);
  return found == list.end() ? kNone : static_cast<size_t>(found - list.begin());
}

size_t depth_place(const Plan& plan, int64_t layers) {
  return place_of(plan.depths, layers, std::identity());
}

// The name of a scheme in the paper's rows, which all use the scheme's first variant.
std::string paper_name(const SchemePlan& scheme) {
  const std::string first = schemes::resolve({.name = scheme.name}).variant;
  const bool is_first = scheme.variant.empty() || scheme.variant == first;
  return is_first ? scheme.name : scheme.name + ":" + scheme.variant;
}

// A row without a schedule uses the plan's first.
size_t schedule_place(const Plan& plan, const std::string& name) {
  return name.empty() ? 0 : place_of(plan.schedules, name, &SchedulePlan::name);
}

// A row of the paper, or of the same form, and the plan's scheme that it shows.
struct Row {
  PaperRow paper;
  size_t scheme;
};

// Tells whether the mean over all test sets includes every one that a column of the table names.
// Any other mean would not be comparable with the paper's.
bool is_whole_mean(const PaperTable& table, const Findings& all, const GridPlace& place) {
  const int scored = summarise(all, place).scored;
  return std::ranges::all_of(table.columns, [&](const PaperColumn& column) {
    return summarise(all, place, column.test).scored == scored;
  });
}

std::string ours(const PaperTable& table, const Findings& all, const Row& row, int64_t layers,
                 const std::string& test) {
  const GridPlace place{.scheme = row.scheme,
                        .depth = depth_place(all.plan, layers),
                        .schedule = schedule_place(all.plan, row.paper.schedule)};
  const bool trained = place.scheme != kNone && place.depth != kNone && place.schedule != kNone;
  if (!trained || (test.empty() && !is_whole_mean(table, all, place))) return kNothing;
  return text_of(summarise(all, place, test));
}

// Returns the paper's rows, each with the plan's scheme of that name, then rows for the other
// schemes and variants, without the paper's numbers.
std::vector<Row> rows_of(const PaperTable& table, const Plan& plan) {
  std::vector<Row> rows;
  std::vector<std::string> schedules;
  for (const auto& row : table.rows) {
    rows.push_back({row, place_of(plan.schemes, row.scheme, paper_name)});
    if (std::ranges::count(schedules, row.schedule) == 0) schedules.push_back(row.schedule);
  }
  for (size_t place = 0; place < plan.schemes.size(); ++place) {
    const SchemePlan& scheme = plan.schemes[place];
    if (std::ranges::count(rows, place, &Row::scheme) > 0) continue;
    for (const auto& schedule : schedules) {
      PaperRow row{.head = {label_of(scheme)}, .scheme = scheme.name, .schedule = schedule};
      if (table.head.size() > 1) row.head.push_back(schedule);
      row.head.resize(table.head.size());
      row.values.resize(table.columns.size());
      rows.push_back({std::move(row), place});
    }
  }
  return rows;
}

// The plan's additional depths, which follow the paper's columns if those are depths.
std::vector<int64_t> other_depths(const PaperTable& table, const Plan& plan) {
  std::vector<int64_t> depths;
  const bool by_depth = std::ranges::all_of(table.columns, [](const PaperColumn& c) {
    return c.title == depth_name(model::Kind::translation, c.layers);
  });
  for (const int64_t layers : plan.depths) {
    if (by_depth && place_of(table.columns, layers, &PaperColumn::layers) == kNone) {
      depths.push_back(layers);
    }
  }
  return depths;
}

std::string state_of(const Finding& finding) {
  if (!finding.result) {
    if (finding.record.updates == 0) return "not begun";
    return finding.work.done < 1 ? fmt::format("{:.0f} %", 100 * finding.work.done)
                                 : "trained, not scored";
  }
  return finding.result->converged ? "converged" : "failed: " + finding.result->reason;
}

std::string score_name(const Findings& all) {
  return all.is_translation() ? "BLEU" : "test perplexity";
}

std::string perplexity(double nll) {
  return std::isfinite(nll) ? fmt::format("{:.2f}", std::exp2(nll)) : kNothing;
}

}  // namespace

TextTable paper_table(const PaperTable& table, const Findings& all) {
  TextTable out{.id = fmt::format("table-{}", table.number),
                .section = "Results",
                .title = fmt::format("Table {} of the paper: {}", table.number, table.caption),
                .columns = table.head};
  const auto extra = other_depths(table, all.plan);
  for (const auto& column : table.columns) {
    out.columns.push_back(column.title + ", paper");
    out.columns.push_back(column.title + ", here");
  }
  for (const int64_t layers : extra)
    out.columns.push_back(depth_name(all.kind(), layers) + ", here");
  for (const auto& row : rows_of(table, all.plan)) {
    std::vector<TextCell> cells;
    for (const auto& text : row.paper.head) cells.push_back({text});
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const std::string& value = row.paper.values[c];
      cells.push_back({value.empty() ? kNothing : value});
      cells.push_back({ours(table, all, row, table.columns[c].layers, table.columns[c].test)});
    }
    for (const int64_t layers : extra) cells.push_back({ours(table, all, row, layers, "")});
    out.rows.push_back(std::move(cells));
  }
  return out;
}

TextTable grid_table(const Findings& all) {
  const Plan& plan = all.plan;
  TextTable out{
      .id = "grid", .section = "Results", .title = score_name(all), .columns = {"Method"}};
  const size_t schedules = std::max<size_t>(1, plan.schedules.size());
  if (schedules > 1) out.columns.push_back("Schedule");
  for (const int64_t layers : plan.depths) out.columns.push_back(depth_name(all.kind(), layers));
  for (size_t r = 0; r < plan.schemes.size(); ++r) {
    for (size_t q = 0; q < schedules; ++q) {
      std::vector<TextCell> cells = {{label_of(plan.schemes[r])}};
      if (schedules > 1) cells.push_back({plan.schedules[q].name});
      for (size_t d = 0; d < plan.depths.size(); ++d) {
        cells.push_back({text_of(summarise(all, {.scheme = r, .depth = d, .schedule = q}))});
      }
      out.rows.push_back(std::move(cells));
    }
  }
  return out;
}

TextTable perplexity_table(const Findings& all) {
  const Plan& plan = all.plan;
  TextTable out{.id = "perplexity",
                .section = "Results",
                .title = "Dev perplexity",
                .columns = {"Method", "Schedule"},
                .note = "Seeds are separated by commas."};
  for (const int64_t layers : plan.depths) out.columns.push_back(depth_name(all.kind(), layers));
  std::map<std::array<size_t, 3>, std::string> texts;  // by scheme, schedule and depth
  for (const auto& finding : all.cells) {
    if (!finding.result) continue;
    const Cell& cell = finding.work.cell;
    const Result& result = *finding.result;
    std::string& text = texts[{cell.scheme, cell.schedule, cell.depth}];
    if (!text.empty()) text += ", ";
    if (!result.converged) text += "fails: ";
    text += std::isfinite(result.dev_nll) ? fmt::format("{:.1f}", std::exp2(result.dev_nll))
                                          : "not finite";
  }
  for (size_t s = 0; s < plan.schemes.size(); ++s) {
    for (size_t q = 0; q < std::max<size_t>(1, plan.schedules.size()); ++q) {
      auto& row = out.rows.emplace_back();
      row = {{label_of(plan.schemes[s])}, {plan.schedules.empty() ? "" : plan.schedules[q].name}};
      for (size_t d = 0; d < plan.depths.size(); ++d) {
        const auto& text = texts[{s, q, d}];
        row.push_back({text.empty() ? kNothing : text});
      }
    }
  }
  return out;
}

TextTable run_table(const Findings& all) {
  TextTable out{
      .id = "runs",
      .section = "Runs",
      .title = "Every run",
      .columns = {"run", "state", "updates", "dev perplexity", score_name(all), "p", "trained in"}};
  for (const auto& finding : all.cells) {
    const std::string& name = finding.work.cell.name;
    const auto& dev = finding.record.dev.y;
    const bool scored = finding.result && !finding.result->scores.empty();
    out.rows.push_back({{name, "../../runs/" + name},
                        {state_of(finding)},
                        {fmt::format("{}", finding.record.updates)},
                        {finding.result ? perplexity(finding.result->dev_nll)
                                        : (dev.empty() ? kNothing : perplexity(dev.back()))},
                        {scored ? fmt::format("{:.2f}", finding.result->mean()) : kNothing},
                        {finding.p_value ? fmt::format("{:.3f}", *finding.p_value) : kNothing},
                        {format_duration(finding.record.seconds)}});
  }
  return out;
}

TextTable command_table(const Findings& all) {
  TextTable out{.id = "commands",
                .section = "Runs",
                .title = "Commands",
                .columns = {"run", "command"},
                .note = "With --resume, a command continues a stopped run."};
  for (const auto& finding : all.cells) {
    std::vector<std::string> command = finding.work.command;
    command[0] = "residual";
    std::erase(command, "--resume");
    out.rows.push_back({{finding.work.cell.name}, {shell_line(command)}});
  }
  return out;
}

}  // namespace residual::study
