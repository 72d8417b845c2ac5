#include "data/pairs.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace residual::data {
namespace {

// A block's work should dwarf handing it over to a thread.
constexpr size_t kBlockBytes = 256 << 10;

// Column `column` of a line, counted from 1.
std::optional<std::string_view> nth_column(std::string_view line, int64_t column) {
  for (; column > 1; --column) {
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return std::nullopt;
    line.remove_prefix(tab + 1);
  }
  return line.substr(0, line.find('\t'));
}

}  // namespace

// A file line by line.
class PairReader::Stream {
 public:
  Stream(const fs::path& path, text::Invalid invalid) : reader_(path, invalid) {}

  // Valid until the next call.
  std::optional<std::string_view> next() {
    if (at_ == block_.bytes.size()) {
      auto block = reader_.next();
      if (!block) return std::nullopt;
      block_ = std::move(*block);
      at_ = 0;
    }
    const std::string_view rest = std::string_view(block_.bytes).substr(at_);
    const size_t end = rest.find('\n');
    at_ += end + 1;
    ++lines_;
    return rest.substr(0, end);
  }
  uint64_t lines() const { return lines_; }
  uint64_t lines_to_the_end() {
    while (next()) {
    }
    return lines_;
  }

 private:
  text::LineReader reader_;
  text::LineBlock block_;
  size_t at_ = 0;
  uint64_t lines_ = 0;
};

std::vector<fs::path> PairFiles::files() const {
  return columns.empty() ? std::vector<fs::path>{source, target} : std::vector<fs::path>{source};
}

PairFiles find_pair_files(const std::string& name, const std::string& source_language,
                          const std::string& target_language, const std::vector<int64_t>& columns) {
  PairFiles found{.source = name + "." + source_language, .target = name + "." + target_language};
  if (name.ends_with(".tsv")) found = {.source = name, .target = name, .columns = columns};
  for (const auto& file : found.files()) {
    require(
        fs::exists(file),
        "{}: does not exist; \"{}\" must be a .tsv file or the common part, before .{} and .{}, "
        "of the names of two files",
        file.string(), name, source_language, target_language);
  }
  return found;
}

PairReader::PairReader(std::vector<PairFiles> inputs, text::Invalid invalid)
    : inputs_(std::move(inputs)), invalid_(invalid) {}

PairReader::~PairReader() = default;

std::optional<PairBlock> PairReader::next() {
  PairBlock block;
  while (block.source.bytes() + block.target.bytes() < kBlockBytes && input_ < inputs_.size()) {
    if (!source_) open(inputs_[input_]);
    if (!add_pair(block)) {
      source_.reset();
      ++input_;
    }
  }
  if (block.numbers.empty()) return std::nullopt;
  return block;
}

void PairReader::open(const PairFiles& input) {
  source_ = std::make_unique<Stream>(input.source, invalid_);
  target_ = input.columns.empty() ? std::make_unique<Stream>(input.target, invalid_) : nullptr;
  numbers_ = input.numbers.empty() ? nullptr : std::make_unique<Stream>(input.numbers, invalid_);
}

bool PairReader::add_pair(PairBlock& block) {
  const PairFiles& input = inputs_[input_];
  auto source = source_->next();
  auto target = target_ ? target_->next() : source;
  if (source.has_value() != target.has_value()) {
    fail_lengths(source_->lines_to_the_end(), target_->lines_to_the_end());
  }
  if (!source) return false;
  if (!target_) {
    const std::string_view line = *source;
    source = nth_column(line, input.columns[0]);
    target = nth_column(line, input.columns[1]);
    require(source && target, "{}:{}: expected at least {} tab-separated columns, got {}",
            input.source.string(), source_->lines(), std::max(input.columns[0], input.columns[1]),
            std::count(line.begin(), line.end(), '\t') + 1);
  }
  block.source.add(*source);
  block.target.add(*target);
  ++number_;
  uint64_t number = number_;
  if (numbers_) {
    const std::string_view digits = numbers_->next().value_or("");
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
  }
  block.numbers.push_back(number);
  return true;
}

void PairReader::fail_lengths(uint64_t source_lines, uint64_t target_lines) const {
  fail(
      "{} has {} lines but {} has {}; line n of one must translate line n of the other, so a line "
      "is missing or broken in two somewhere",
      inputs_[input_].source.string(), source_lines, inputs_[input_].target.string(), target_lines);
}

}  // namespace residual::data
