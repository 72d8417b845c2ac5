#include "base/checksum.h"

#include <fmt/format.h>
#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // the same functions, with AVX2 or AVX-512 where the CPU has them
#endif

#include <bit>
#include <charconv>

namespace residual {
namespace {

static_assert(std::endian::native == std::endian::little, "checksums of blocks are little-endian");

constexpr size_t kDigits = 16;
constexpr std::string_view kSealBegin = "# checksum ";
constexpr std::string_view kSealEnd = " of the lines below\n";

}  // namespace

struct Checksum::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

uint64_t checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(state_->xxh); }
Checksum::~Checksum() = default;
void Checksum::add(std::string_view bytes) {
  XXH3_64bits_update(state_->xxh, bytes.data(), bytes.size());
}
uint64_t Checksum::value() const { return XXH3_64bits_digest(state_->xxh); }

uint64_t BlockChecksum::combine(const std::vector<uint64_t>& blocks) {
  return checksum({reinterpret_cast<const char*>(blocks.data()), blocks.size() * sizeof(uint64_t)});
}

uint64_t BlockChecksum::of(std::string_view bytes) {
  std::vector<uint64_t> blocks;
  for (size_t at = 0; at < bytes.size(); at += kBlock) {
    blocks.push_back(checksum(bytes.substr(at, kBlock)));
  }
  return combine(blocks);
}

void BlockChecksum::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kBlock - block_.size());
    bytes.remove_prefix(part.size());
    if (part.size() == kBlock) {
      blocks_.push_back(checksum(part));
      continue;
    }
    block_ += part;
    if (block_.size() < kBlock) break;
    blocks_.push_back(checksum(block_));
    block_.clear();
  }
}

uint64_t BlockChecksum::value() const {
  std::vector<uint64_t> all = blocks_;
  if (!block_.empty()) all.push_back(checksum(block_));
  return combine(all);
}

std::string to_hex(uint64_t value) { return fmt::format("{:016x}", value); }

std::optional<uint64_t> from_hex(std::string_view digits) {
  uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, value, 16);
  const bool is_read = digits.size() == kDigits && error == std::errc() && rest == end;
  return is_read && to_hex(value) == digits ? std::optional(value) : std::nullopt;
}

std::string sealed(std::string_view text) {
  return fmt::format("{}{}{}{}", kSealBegin, to_hex(checksum(text)), kSealEnd, text);
}

Seal seal_of(std::string_view text) {
  if (!text.starts_with('#')) return Seal::missing;
  const size_t below = kSealBegin.size() + kDigits + kSealEnd.size();
  const bool is_intact = text.size() >= below && sealed(text.substr(below)) == text;
  return is_intact ? Seal::intact : Seal::broken;
}

}  // namespace residual
