#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "review/summary.h"
#include "serve/message.h"
#include "serve/workers.h"

namespace residual::serve {

// Shows the training runs in a directory while they are being written. It reads only the runs that
// it has found itself: a request chooses among their names and never makes up a path.
//
//   GET /runs                    a page that follows them
//   GET /runs/list               {"runs": [{"name": "a", "state": "running", ...}]}
//   GET /runs/report?run=a&run=b the report of a run, or of several in the same charts
//
// Answers have an ETag, so that a page that asks again and again gets 304 as long as nothing has
// changed.
class Runs {
 public:
  explicit Runs(fs::path directory);

  static Answer page();
  // The answers come from a thread of their own: reading a long run takes some milliseconds.
  void list(std::shared_ptr<Exchange> exchange);
  void report(std::shared_ptr<Exchange> exchange);

 private:
  using Make = Answer (Runs::*)(const Request&);

  struct Known {
    std::string stamp;
    review::Summary summary;
  };

  void later(std::shared_ptr<Exchange> exchange, Make make);
  Answer make_list(const Request& request);
  Answer make_report(const Request& request);

  const fs::path directory_;
  std::map<std::string, Known> known_;  // by name; of the worker
  Workers workers_{1};                  // the last member: it ends first
};

}  // namespace residual::serve
