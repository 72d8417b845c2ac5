#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace residual {

// Returns the 64-bit XXH3 of `bytes`. It detects damage, not malice.
uint64_t checksum(std::string_view bytes);

// Computes checksum() of bytes that arrive in pieces.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  void add(std::string_view bytes);
  uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Computes the checksum of the checksums of consecutive blocks. Threads can check the blocks of a
// large file in any order.
class BlockChecksum {
 public:
  static constexpr size_t kBlock = 1 << 20;  // bytes; the last block may be shorter

  static uint64_t of(std::string_view bytes);
  // Combines the checksums of the blocks.
  static uint64_t combine(const std::vector<uint64_t>& blocks);

  void add(std::string_view bytes);
  uint64_t value() const;

 private:
  std::string block_;  // the incomplete one
  std::vector<uint64_t> blocks_;
};

// Returns 16 hexadecimal digits.
std::string to_hex(uint64_t value);
// Reads 16 hexadecimal digits; nothing for any other text.
std::optional<uint64_t> from_hex(std::string_view digits);

// Returns the text below a first line that carries its checksum: "# checksum <digits> of the lines
// below". TOML reads it as a comment.
std::string sealed(std::string_view text);

enum class Seal { intact, broken, missing };

// Checks the first line of a text; a text that does not begin with '#' was never sealed.
Seal seal_of(std::string_view text);

}  // namespace residual
