#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace residual {

// XXH3, 64 bits: detects damage, not malice.
uint64_t checksum(std::string_view bytes);

// The same, piece by piece.
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

// 16 hexadecimal digits.
std::string to_hex(uint64_t value);

}  // namespace residual
