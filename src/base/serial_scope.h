#pragma once

namespace residual {

// While a SerialScope exists, parallel_for calls of its thread run in that thread alone and wait
// for no other thread. Background work uses it.
class SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  bool before_;
};

}  // namespace residual
