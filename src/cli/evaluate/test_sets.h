#pragma once

#include <string>
#include <vector>

#include "data/language_pair.h"
#include "metrics/metric.h"
#include "text/lines.h"

namespace residual::cli {

// A text to translate, and its translations by people.
struct TestSet {
  data::LanguagePair languages;  // empty: those of the options, or of the model
  fs::path text;
  std::vector<fs::path> references;
};

// Returns the test sets of a directory from `source` to `target`; either may be empty for any
// language. The directory is prepared, or has folders of parallel text, such as ar-de/test.ar and
// ar-de/test.de, which are test sets of both directions. Throws an Error if there is none.
std::vector<TestSet> test_sets_in(const fs::path& directory, const std::string& split,
                                  const std::string& source, const std::string& target);

struct TestText {
  metrics::Lines lines;
  metrics::References references;
};
// Throws an Error unless all have the same number of lines.
TestText read_test(const TestSet& test, text::Invalid invalid);

}  // namespace residual::cli
