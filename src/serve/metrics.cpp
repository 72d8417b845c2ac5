#include "serve/metrics.h"

#include <prometheus/text_serializer.h>

#include "base/version.h"

namespace residual::serve {
namespace {

// Buckets from one short line with a small model to a long text.
const prometheus::Histogram::BucketBoundaries kSeconds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                          0.5,   1,    2.5,   5,    10,  30};

prometheus::Counter& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Gauge& gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

Metrics::Metrics()
    : answers_(prometheus::BuildCounter()
                   .Name("residual_http_answers_total")
                   .Help("HTTP responses by path and status")
                   .Register(registry_)),
      seconds(prometheus::BuildHistogram()
                  .Name("residual_translation_seconds")
                  .Help("seconds from the last byte of a request to its translation")
                  .Register(registry_)
                  .Add({}, kSeconds)),
      lines(counter(registry_, "residual_lines_total", "lines translated")),
      source_pieces(
          counter(registry_, "residual_source_pieces_total", "source pieces of translated lines")),
      target_pieces(
          counter(registry_, "residual_target_pieces_total", "pieces of the best translations")),
      waiting(
          gauge(registry_, "residual_lines_waiting", "accepted lines that are not answered yet")),
      connections(gauge(registry_, "residual_connections", "connections being served")) {
  prometheus::BuildGauge()
      .Name("residual_info")
      .Help("always 1")
      .Register(registry_)
      .Add({{"version", std::string(version())}, {"commit", std::string(commit())}})
      .Set(1);
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

}  // namespace residual::serve
