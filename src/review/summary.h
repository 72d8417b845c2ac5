#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "review/findings.h"
#include "review/records.h"

namespace residual::review {

// A run in one line of a list.
struct Summary {
  std::string name, scheme, description;
  State state = State::finished;
  int64_t update = 0, max_updates = 0;  // 0: no limit
  // The latest values; empty: none was recorded, or it is not finite.
  std::optional<double> loss, tokens_per_second;
  // The best values.
  std::optional<double> perplexity, bleu;
  std::vector<Finding> findings;

  size_t problems() const;
};

Summary summary_of(const Records& records);

// "finished, update 400 of 400; dev perplexity 3.21, BLEU 60.5"
std::string describe(const Summary& summary);

// {"name": "a", "scheme": "post-ln", "state": "running", "update": 40, ...}, for a list of runs.
std::string to_json(const std::vector<Summary>& summaries);

}  // namespace residual::review
