#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace residual {

// A progress display on standard error: a bar with rate and remaining time on a terminal, a line
// every few seconds elsewhere, nothing after set_quiet(true).
class Progress {
 public:
  // The output and the clock of a display; tests replace it.
  struct Terminal {
    bool is_terminal;
    int columns;
    std::function<void(const std::string&)> write;
    std::function<std::chrono::duration<double>()> now;
    static Terminal standard_error();
  };

  // A `total` of 0 means unknown. `unit` is plural: "lines", "MB".
  Progress(std::string label, uint64_t total, std::string unit,
           Terminal terminal = Terminal::standard_error());
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(uint64_t n = 1);  // from any thread
  void finish();             // draws the final state once; the destructor does nothing more

  static void set_quiet(bool quiet);
  static bool quiet();

 private:
  void draw(bool last);

  std::string label_;
  uint64_t total_;
  std::string unit_;
  Terminal terminal_;
  std::mutex mutex_;
  uint64_t done_ = 0;
  double start_, drawn_;
  bool any_drawn_ = false;
  bool finished_ = false;
};

// Returns "1h 02m", "3m 07s" or "12s".
std::string format_duration(double seconds);
// Returns "12,345,678".
std::string format_count(uint64_t n);

}  // namespace residual
