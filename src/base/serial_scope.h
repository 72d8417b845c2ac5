#pragma once

namespace residual {

// While it lives, the calling thread's parallel_for runs in that thread alone and waits for no
// other one: for work in the background.
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
