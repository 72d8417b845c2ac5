#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "support/paths.h"
#include "text/lines.h"

namespace residual::text {

// Lines of tests/fixtures/moses/NAME.
inline std::vector<std::string> moses_lines(const std::string& name) {
  std::vector<std::string> lines;
  for_each_line(fs::path(test::fixtures()) / "moses" / name, Invalid::refuse,
                [&](std::string_view line, uint64_t) { lines.emplace_back(line); });
  return lines;
}

inline std::string transformed(const LineTransform& transform, std::string_view line) {
  std::string out;
  transform(line, out);
  return out;
}

// Each line of file `from` becomes the same line of file `to`.
inline void expect_same_lines(const LineTransform& transform, const std::string& from,
                              const std::string& to) {
  const auto input = moses_lines(from);
  const auto expected = moses_lines(to);
  ASSERT_FALSE(input.empty());
  ASSERT_EQ(input.size(), expected.size());
  for (size_t i = 0; i < input.size(); ++i) {
    EXPECT_EQ(transformed(transform, input[i]), expected[i]) << from << ":" << i + 1;
  }
}

}  // namespace residual::text
