// Reports as Markdown.

#include <fmt/format.h>

#include <algorithm>

#include "report/report.h"

namespace residual::report {
namespace {

// Escapes vertical bars, which would end the cell.
std::string cell_text(const TextCell& cell) {
  std::string text;
  for (const char c : cell.text) text += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell.link.empty() ? text : fmt::format("[{}]({})", text, cell.link);
}

std::string row_text(const std::vector<TextCell>& cells) {
  std::string line = "|";
  for (const auto& cell : cells) line += " " + cell_text(cell) + " |";
  return line + "\n";
}

std::string table_text(const TextTable& table) {
  std::vector<TextCell> head;
  std::string rule = "|";
  for (const auto& column : table.columns) {
    head.push_back({column});
    rule += "---|";
  }
  std::string text = fmt::format("### {}\n\n{}{}\n", table.title, row_text(head), rule);
  for (const auto& row : table.rows) text += row_text(row);
  if (!table.note.empty()) text += "\n" + table.note + "\n";
  return text + "\n";
}

std::string figure_text(const Figure& figure) {
  std::string text = fmt::format("### {0}\n\n![{0}]({1}.svg)\n\n", figure.title, figure.id);
  return figure.note.empty() ? text : text + figure.note + "\n\n";
}

}  // namespace

std::string to_markdown(const Report& report) {
  std::string text = fmt::format("# {}\n\n", report.title);
  for (const auto& [name, value] : report.facts) text += fmt::format("- {}: {}\n", name, value);
  for (const auto& message : report.messages) text += fmt::format("\n> {}\n", message.text);
  std::vector<std::string> sections;
  const auto note_section = [&](const std::string& name) {
    if (std::ranges::find(sections, name) == sections.end()) sections.push_back(name);
  };
  const auto has_items = [&](const std::string& name) {
    return std::ranges::count(report.tables, name, &TextTable::section) > 0 ||
           std::ranges::count(report.figures, name, &Figure::section) > 0;
  };
  for (const auto& name : report.sections) {
    if (has_items(name)) note_section(name);
  }
  for (const auto& table : report.tables) note_section(table.section);
  for (const auto& figure : report.figures) note_section(figure.section);
  for (const auto& section : sections) {
    text += fmt::format("\n## {}\n\n", section);
    for (const auto& table : report.tables) {
      if (table.section == section) text += table_text(table);
    }
    for (const auto& figure : report.figures) {
      if (figure.section == section) text += figure_text(figure);
    }
  }
  return text;
}

}  // namespace residual::report
