#include "interop/marian_vocabulary.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "interop/flat_yaml.h"
#include "text/sentence_piece.h"
#include "text/unicode.h"

namespace residual::interop {
namespace {

using Numbers = std::map<std::string, int64_t>;

Numbers read_yaml(const std::string& content, const std::string& name) {
  Numbers numbers;
  for (const auto& [symbol, values] : parse_flat_yaml(content, name, Twice::first)) {
    const auto number = whole_number(values.empty() ? "" : values[0]);
    require(number.has_value(), "{}: \"{}\" has no number", name, symbol);
    numbers[symbol] = *number;
  }
  return numbers;
}

Numbers read_json(const std::string& content, const std::string& name) {
  Numbers numbers;
  const auto json = nlohmann::json::parse(content, nullptr, /*allow_exceptions=*/false);
  require(json.is_object(), "{}: is not a JSON object", name);
  for (const auto& [symbol, number] : json.items()) {
    require(number.is_number_integer(), "{}: \"{}\" has no number", name, symbol);
    numbers[symbol] = number.get<int64_t>();
  }
  return numbers;
}

// All numbers must be below `end`.
std::vector<std::string> by_number(const Numbers& numbers, const std::string& name,
                                   int64_t end = 1 << 24) {
  std::vector<std::string> symbols;
  std::vector<bool> is_used;  // there may be a symbol ""
  for (const auto& [symbol, number] : numbers) {
    require(number >= 0 && number < end, "{}: \"{}\" has the number {}", name, symbol, number);
    const auto at = static_cast<size_t>(number);
    if (at >= symbols.size()) {
      symbols.resize(at + 1);
      is_used.resize(at + 1);
    }
    require(!is_used[at], "{}: \"{}\" and \"{}\" have the number {}", name, symbols[at], symbol,
            number);
    symbols[at] = symbol;
    is_used[at] = true;
  }
  return symbols;
}

std::vector<std::string> read_lines(std::string_view content, const std::string& name) {
  require(content.find('\0') == std::string_view::npos,
          "{}: is neither text nor a file with a known extension: .yml, .json, .spm", name);
  std::vector<std::string> symbols;
  while (!content.empty()) {
    const size_t end = std::min(content.find('\n'), content.size());
    std::string& symbol = symbols.emplace_back(content.substr(0, end));
    if (symbol.ends_with('\r')) symbol.pop_back();
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return symbols;
}

// By Marian's numbers; empty where there is none.
std::vector<std::string> read_symbols(const fs::path& path) {
  const std::string name = path.string(), kind = path.extension();
  if (kind == ".spm" || kind == ".model") return text::SentencePiece::load(path).pieces();
  const std::string content = read_file(path);
  if (kind == ".json") return by_number(read_json(content, name), name);
  if (kind == ".yml" || kind == ".yaml") return by_number(read_yaml(content, name), name);
  return read_lines(content, name);
}

// Whether a vocabulary file can name it: text cannot have it otherwise either.
bool can_be_named(const std::string& symbol) {
  return !symbol.empty() && symbol.find_first_of(" \n") == std::string::npos &&
         text::find_invalid_utf8(symbol) == std::string::npos;
}

// Our vocabulary of symbols by Marian's numbers, one for each row.
MarianVocabulary renumbered(const std::vector<std::string>& symbols, const fs::path& path,
                            int64_t pad) {
  const auto rows = static_cast<int64_t>(symbols.size());
  const auto number_of = [&](const char* symbol) {
    const auto at = std::ranges::find(symbols, symbol);
    require(at != symbols.end(),
            "{}: has no {} among its first {} symbols; is it the vocabulary of this model?",
            path.string(), symbol, rows);
    return at - symbols.begin();
  };
  MarianVocabulary made;
  made.pad = pad;
  made.rows = {number_of("</s>"), number_of("<unk>")};
  made.is_named = {true, true};
  std::string lines;
  for (int64_t row = 0; row < rows; ++row) {
    if (row == made.rows[0] || row == made.rows[1] || row == pad) continue;
    const std::string& symbol = symbols[static_cast<size_t>(row)];
    made.rows.push_back(row);
    made.is_named.push_back(can_be_named(symbol));
    const bool is_special = symbol == "<s>" || symbol == "<pad>";
    lines += made.is_named.back() ? symbol : fmt::format("<nothing-{}>", row);
    lines += is_special ? " 1 #fairseq:overwrite\n" : " 1\n";
  }
  made.vocabulary = text::Vocabulary::parse(lines, "the symbols of " + path.string());
  return made;
}

}  // namespace

MarianVocabulary read_marian_vocabulary(const fs::path& path, int64_t rows) {
  std::vector<std::string> symbols = read_symbols(path);
  if (static_cast<int64_t>(symbols.size()) > rows) {
    log::warn("{}: has {} symbols, the model's matrix {} rows; symbols without a row are left out",
              path.string(), symbols.size(), rows);
  }
  symbols.resize(static_cast<size_t>(rows));
  return renumbered(symbols, path, /*pad=*/-1);
}

MarianVocabulary read_marian_hf_vocabulary(const fs::path& path, int64_t rows) {
  const std::string name = path.string();
  const Numbers numbers = read_json(read_file(path), name);
  const auto pad = numbers.find("<pad>");
  require(pad != numbers.end(), "{}: has no <pad>", name);
  require(static_cast<int64_t>(numbers.size()) == rows,
          "{}: has {} symbols, the model's matrix {} rows; is it the vocabulary of this model?",
          name, numbers.size(), rows);
  // As many different numbers as there are rows, each below that: one for each row.
  return renumbered(by_number(numbers, name, rows), path, pad->second);
}

}  // namespace residual::interop
