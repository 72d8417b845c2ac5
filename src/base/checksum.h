#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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

// Returns 16 hexadecimal digits.
std::string to_hex(uint64_t value);

}  // namespace residual
