#include "text/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/error.h"
#include "text/whitespace.h"

namespace residual::text {
namespace {

constexpr std::string_view kOverwrite = "#fairseq:overwrite";
// What has more lines may be no vocabulary, and is found out at its first.
constexpr size_t kMostReserved = 1 << 20;

// Cuts off what follows the last space; empty if there is none.
std::string_view cut_last_field(std::string_view& line) {
  const size_t space = line.rfind(' ');
  if (space == std::string_view::npos) return {};
  const std::string_view field = line.substr(space + 1);
  line = line.substr(0, space);
  return field;
}

bool read_count(std::string_view field, uint64_t& count) {
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), count);
  return error == std::errc() && end == field.data() + field.size();
}

}  // namespace

Vocabulary::Vocabulary() {
  for (const char* special : {"<s>", "<pad>", "</s>", "<unk>"}) append(special, 0);
}

bool Vocabulary::append(std::string_view symbol, uint64_t count) {
  require(numbers_.size() < INT32_MAX, "a vocabulary cannot have more than {} symbols", INT32_MAX);
  const uint32_t known = table_.add(symbol);
  const bool is_new = known == ids_.size();
  if (is_new) ids_.push_back(0);
  ids_[known] = size();
  numbers_.push_back(known);
  counts_.push_back(count);
  return is_new;
}

void Vocabulary::reserve(size_t symbols, size_t bytes) {
  table_.reserve(symbols, bytes);
  ids_.reserve(symbols);
  numbers_.reserve(symbols);
  counts_.reserve(symbols);
}

Vocabulary Vocabulary::load(const fs::path& path) { return parse(read_file(path), path.string()); }

Vocabulary Vocabulary::parse(std::string_view content, const std::string& name) {
  Vocabulary out;
  content = without_byte_order_mark(content);
  const auto lines = static_cast<size_t>(std::count(content.begin(), content.end(), '\n'));
  if (lines <= kMostReserved) out.reserve(lines + kSpecials + 1, content.size());
  for (size_t number = 1; !content.empty(); ++number) {
    const size_t end = std::min(content.find('\n'), content.size());
    const std::string_view whole = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    require(find_invalid_utf8(whole) == std::string_view::npos, "{}:{}: not valid UTF-8", name,
            number);
    std::string_view line = without_trailing_whitespace(whole);
    std::string_view field = cut_last_field(line);
    const bool overwrites = field == kOverwrite;
    if (overwrites) field = cut_last_field(line);
    uint64_t count = 0;
    require(read_count(field, count) && !line.empty() && line.find('\r') == std::string_view::npos,
            "{}:{}: expected a symbol, a space and a count, got \"{}\"", name, number,
            whole.substr(0, 80));
    require(out.append(line, count) || overwrites,
            R"({}:{}: "{}" is already in the vocabulary; remove the line, or end it in "{}")", name,
            number, line.substr(0, 80), kOverwrite);
  }
  return out;
}

void Vocabulary::save(const fs::path& path) const { replace_file(path, format()); }

std::string Vocabulary::format() const {
  std::string out;
  StringTable seen;
  for (int32_t id = 0; id < size(); ++id) {
    const std::string_view name = symbol(id);
    const bool is_repeated = seen.find(name) != StringTable::kAbsent;
    seen.add(name);
    if (id < kSpecials) continue;
    fmt::format_to(std::back_inserter(out), "{} {}", name, count(id));
    if (is_repeated) fmt::format_to(std::back_inserter(out), " {}", kOverwrite);
    out += '\n';
  }
  return out;
}

void Vocabulary::encode(std::string_view line, std::vector<int32_t>& ids) const {
  for_each_token(line, [&](std::string_view token) { ids.push_back(id(token)); });
  ids.push_back(kEos);
}

std::string Vocabulary::decode(std::span<const int32_t> ids) const {
  std::string out;
  bool is_first = true;
  for (const int32_t id : ids) {
    if (id == kEos) break;
    if (id == kBos || id == kPad) continue;
    require(id >= 0 && id < size(), "id {} is outside the vocabulary of {} symbols", id, size());
    if (!is_first) out += ' ';
    is_first = false;
    out += symbol(id);
  }
  return out;
}

void VocabularyBuilder::count_line(std::string_view line, WordCounts& counts) {
  for_each_token(line, [&](std::string_view token) { counts.add(token); });
}

Vocabulary VocabularyBuilder::finish(const VocabularyRules& rules) const {
  require(rules.multiple > 0, "a vocabulary's size cannot be a multiple of {}", rules.multiple);
  Vocabulary out;
  std::vector<uint32_t> order;
  for (uint32_t id = 0; id < counts_.size(); ++id) {
    const bool is_special = out.table_.find(counts_.word(id)) != StringTable::kAbsent;
    if (!is_special && counts_.count(id) >= rules.threshold) order.push_back(id);
  }
  // UTF-8 sorts as its code points do.
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (counts_.count(a) != counts_.count(b)) return counts_.count(a) > counts_.count(b);
    return counts_.word(a) < counts_.word(b);
  });
  if (rules.max_words > 0) {
    const int64_t most = std::max<int64_t>(rules.max_words - Vocabulary::kSpecials, 0);
    order.resize(std::min(order.size(), static_cast<size_t>(most)));
  }
  for (const uint32_t id : order) out.append(counts_.word(id), counts_.count(id));
  for (int made_up = 0; out.size() % rules.multiple != 0; ++made_up) {
    const std::string symbol = fmt::format("madeupword{:04}", made_up);
    if (out.table_.find(symbol) == StringTable::kAbsent) out.append(symbol, 0);
  }
  return out;
}

}  // namespace residual::text
