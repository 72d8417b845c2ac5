#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "study/work.h"

namespace residual::study {

// Shows the progress of a study on standard error: one redrawn line on a terminal, a line every
// minute elsewhere, nothing if progress is switched off.
class Overview {
 public:
  Overview(const std::vector<Work>& work, fs::path output,
           Progress::Terminal terminal = Progress::Terminal::standard_error());
  ~Overview();
  Overview(const Overview&) = delete;
  Overview& operator=(const Overview&) = delete;

  void say(const std::string& text);  // prints a permanent line above
  void clear();                       // removes the line before other output
  void finished(const Work& work);
  void show(const std::vector<const Work*>& running);

  // "study: 3 of 18 runs, 21 % | post-ln-e6d6-warmup-s1 42 %, ... | 1h 02m left"
  std::string status(const std::vector<const Work*>& running) const;

 private:
  fs::path output_;
  Progress::Terminal terminal_;
  size_t runs_, finished_ = 0;
  double total_ = 0, done_ = 0;  // sizes; done: of runs that are not running
  double before_ = 0;            // value of done_ at construction
  double start_, shown_;
  bool drawn_ = false;
};

}  // namespace residual::study
