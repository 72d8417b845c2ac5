#pragma once

#include <cstdint>
#include <string>

#include "base/progress.h"

namespace residual::run {

// The progress of a run, for the terminal.
struct Status {
  int64_t update = 0;
  int64_t max_updates = 0;  // 0: not known
  int64_t epoch = 1;
  double epoch_done = 0;  // 0 to 1
  double loss = 0, perplexity = 0;
  double learning_rate = 0;
  double gradient_norm = 0;
  double tokens_per_second = 0;
  double seconds_left = -1;  // negative: not known
};

// "update 1,200/50,000 | epoch 3 (45 %) | loss 5.123 | ppl 20.10 | lr 3.00e-04 | |g| 1.230 |
//  12,345 tokens/s | 2h 03m left"
std::string format_status(const Status& status);

// On a terminal, the display redraws one line; elsewhere it prints only the lines of line().
class Display {
 public:
  explicit Display(Progress::Terminal terminal = Progress::Terminal::standard_error());
  ~Display();
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  void update(const Status& status);   // after every update
  void line(const std::string& text);  // prints a permanent line above the live one
  bool live() const { return terminal_.is_terminal; }

 private:
  void clear();

  Progress::Terminal terminal_;
  double drawn_ = -1;
  bool shown_ = false;
};

}  // namespace residual::run
