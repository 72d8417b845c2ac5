#pragma once

#include <cstdint>
#include <string>

namespace residual::run {
class RunLog;
}

namespace residual::train {

class Learner;

// Observes a run from outside the training loop.
class Observer {
 public:
  virtual ~Observer() = default;

  virtual std::string option() const = 0;  // the option of `residual train` that enables it
  virtual int64_t every() const = 0;       // how many updates apart it looks

  // Called after every such update was applied. The gradients of the learner's parameters are still those
  // of this update: of the mean over its predictions, before clipping.
  virtual void updated(int64_t update, const Learner& learner, run::RunLog& log) = 0;
};

}  // namespace residual::train
