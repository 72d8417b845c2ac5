#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

namespace residual::serve {

// The server's metrics, in the format of Prometheus.
class Metrics {
 public:
  Metrics();

  void answered(const std::string& path, int status) {
    answers_.Add({{"path", path}, {"status", std::to_string(status)}}).Increment();
  }
  std::string text() const;

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& answers_;

 public:
  prometheus::Histogram& seconds;  // latency of completed translations
  prometheus::Counter& lines;
  prometheus::Counter& source_pieces;
  prometheus::Counter& target_pieces;
  prometheus::Gauge& waiting;  // lines
  prometheus::Gauge& connections;
};

}  // namespace residual::serve
