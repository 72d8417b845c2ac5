// ecosystem_events DIRECTORY: the event files of a run that was killed after update 30 and resumed
// from its checkpoint of update 20.

#include "run/events.h"

int main(int argc, char** argv) {
  using residual::run::EventFile;
  if (argc != 2) return 2;
  const auto write = [&](int first, int last, float slope, int resumes_at) {
    EventFile file(argv[1], resumes_at);
    for (int step = first; step <= last; ++step) {
      file.scalar("train/loss", slope * static_cast<float>(step), step, 1.7e9 + step);
    }
    file.scalar("valid/bleu", 35.63F, last, 1.7e9 + last);
  };
  write(1, 30, 1, 0);
  write(21, 40, 2, 21);
  return 0;
}
