#pragma once

#include <cstdint>
#include <string>

namespace residual::run {
class RunLog;
}

namespace residual::train {

class Learner;

// Sees a run while it goes on, from outside the loop.
class Observer {
 public:
  virtual ~Observer() = default;

  virtual std::string option() const = 0;  // of `residual train` that asks for it

  // After an update was applied. The gradients of the learner's parameters are still its own:
  // the mean over its predictions, before clipping.
  virtual void updated(int64_t update, const Learner& learner, run::RunLog& log) = 0;
};

}  // namespace residual::train
