#include "model/checksums.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/process.h"

namespace residual::model {
namespace {

fs::path directory_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

std::string accept_command(const fs::path& directory) {
  return "`residual verify --accept " + shell_word(directory.string()) + "`";
}

// Parses "<checksum> <bytes> <name>".
std::pair<std::string, Checksums::Entry> parse_entry(std::string_view line, const fs::path& path) {
  const size_t first = line.find(' ');
  const size_t second = line.find(' ', first + 1);
  const auto sum = from_hex(line.substr(0, first));
  uint64_t bytes = 0;
  bool is_read = sum && second != std::string_view::npos;
  if (is_read) {
    const char* const end = line.data() + second;
    const auto [rest, error] = std::from_chars(line.data() + first + 1, end, bytes);
    is_read = error == std::errc() && rest == end;
  }
  std::string name(is_read ? line.substr(second + 1) : "");
  require(is_read && is_file_name(name), "{}: expected lines \"<checksum> <bytes> <name>\", got {}",
          path.string(), line);
  return {std::move(name), {bytes, *sum}};
}

// Gives back the memory of the pages that lie wholly in `bytes`; they can be read again.
void release(std::string_view bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = -reinterpret_cast<uintptr_t>(bytes.data()) % page;
  if (before >= bytes.size()) return;
  bytes = bytes.substr(before, (bytes.size() - before) / page * page);
  ::madvise(const_cast<char*>(bytes.data()), bytes.size(), MADV_DONTNEED);
}

bool is_within(std::string_view part, std::string_view whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

}  // namespace

std::optional<Checksums> Checksums::load(const fs::path& directory) {
  const fs::path path = directory / kChecksumsFile;
  if (!fs::exists(path)) return std::nullopt;
  const std::string text = read_file(path);
  require(seal_of(text) == Seal::intact,
          "{}: is damaged: its lines do not match the checksum in the first; copy the directory "
          "again, or write the file anew with {}",
          path.string(), accept_command(directory));
  Checksums made;
  made.directory_ = directory;
  for (size_t at = text.find('\n') + 1; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    made.entries_.insert(parse_entry(std::string_view(text).substr(at, end - at), path));
    at = end + 1;
  }
  return made;
}

const Checksums::Entry& Checksums::at(const std::string& file) const {
  const auto found = entries_.find(file);
  require(found != entries_.end(),
          "{}: is not in {}, so it was added later; if you added it, accept it with {}",
          (directory_ / file).string(), kChecksumsFile, accept_command(directory_));
  return found->second;
}

void Checksums::fail_changed(const std::string& file) const {
  fail(
      "{}: was changed or damaged: it does not match its checksum in {}; copy or make it again, or "
      "accept a change of your own with {}",
      (directory_ / file).string(), kChecksumsFile, accept_command(directory_));
}

void Checksums::check(const std::string& file, std::string_view bytes) const {
  const Entry& entry = at(file);
  if (bytes.size() != entry.bytes || BlockChecksum::of(bytes) != entry.checksum) {
    fail_changed(file);
  }
}

void write_checksums(const fs::path& directory, FileSystem& system) {
  std::map<std::string, std::string> lines;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    const bool is_partial = name.starts_with('.');  // somebody is writing it
    if (!entry.is_regular_file() || name == kChecksumsFile || is_partial) continue;
    require(name.find('\n') == std::string::npos, "{}: has a line break in its name",
            entry.path().string());
    const MappedFile file(entry.path());
    BlockCheck check(file.bytes());
    check.start();
    lines[name] = fmt::format("{} {} {}\n", to_hex(check.value()), file.bytes().size(), name);
  }
  std::string text;
  for (const auto& [name, line] : lines) text += line;
  replace_file(directory / kChecksumsFile, sealed(text), system);
}

void check_listed(const fs::path& path) {
  const auto checksums = Checksums::load(directory_of(path));
  const std::string name = path.filename();
  if (checksums && checksums->contains(name)) {
    const MappedFile file(path);
    checksums->check(name, file.bytes());
  }
}

std::string read_listed(const fs::path& path) {
  std::string content = read_file(path);
  const auto checksums = Checksums::load(directory_of(path));
  const std::string name = path.filename();
  if (checksums && checksums->contains(name)) checksums->check(name, content);
  return content;
}

BlockCheck::BlockCheck(std::string_view bytes, const Options& options)
    : bytes_(bytes),
      options_(options),
      blocks_((bytes.size() + BlockChecksum::kBlock - 1) / BlockChecksum::kBlock),
      order_(blocks_.size()) {
  std::iota(order_.begin(), order_.end(), 0);
  const auto others = std::ranges::stable_partition(
      order_, [&](size_t block) { return is_within(bytes_of(block), options_.released); });
  released_ = order_.size() - others.size();
}

BlockCheck::~BlockCheck() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

void BlockCheck::start() {
  if (blocks_.size() < 2 || thread_count() < 2) return;
  thread_ = std::thread([this, cpu = current_cpu()] {
    leave_cpu(cpu);
    while (!stopped_ && !(is_read_ && next_ >= released_) && compute_next()) continue;
  });
}

std::string_view BlockCheck::bytes_of(size_t block) const {
  return bytes_.substr(block * BlockChecksum::kBlock, BlockChecksum::kBlock);
}

void BlockCheck::compute(size_t block) {
  const std::string_view bytes = bytes_of(block);
  const std::string_view zeros = options_.zeros;
  uint64_t found = 0;
  if (!zeros.empty() && zeros.data() < bytes.data() + bytes.size() &&
      bytes.data() < zeros.data() + zeros.size()) {
    std::string copy(bytes);
    for (size_t i = 0; i < copy.size(); ++i) {
      if (is_within(bytes.substr(i, 1), zeros)) copy[i] = '0';
    }
    found = checksum(copy);
  } else {
    found = checksum(bytes);
  }
  if (!options_.released.empty() && is_within(bytes, options_.released)) release(bytes);
  blocks_[block].checksum.store(found, std::memory_order_relaxed);
  blocks_[block].is_done.store(true, std::memory_order_release);
}

bool BlockCheck::compute_next() {
  const size_t i = next_++;
  if (i >= order_.size()) return false;
  if (!is_done(order_[i])) compute(order_[i]);
  return true;
}

void BlockCheck::read(std::string_view part) {
  if (is_complete_ || !is_within(part, bytes_)) return;
  is_read_ = true;
  const auto begin = static_cast<size_t>(part.data() - bytes_.data());
  const size_t end = begin + part.size();
  for (size_t block = begin / BlockChecksum::kBlock; block * BlockChecksum::kBlock < end; ++block) {
    const size_t first = block * BlockChecksum::kBlock;
    const size_t size = bytes_of(block).size();
    const size_t more = std::min(end, first + size) - std::max(begin, first);
    const size_t before = blocks_[block].read.fetch_add(more, std::memory_order_relaxed);
    // Biases and the like stand between matrices, and nobody tells of them.
    const size_t enough = size - size / 8;
    if (before < enough && before + more >= enough && !is_done(block)) compute(block);
  }
}

uint64_t BlockCheck::value() {
  const std::lock_guard lock(mutex_);
  if (value_) return *value_;
  while (compute_next()) continue;
  std::vector<uint64_t> all;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (!is_done(i)) compute(i);
    all.push_back(blocks_[i].checksum.load(std::memory_order_relaxed));
  }
  value_ = BlockChecksum::combine(all);
  is_complete_ = true;
  return *value_;
}

}  // namespace residual::model
