#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "support/reverse_model.h"
#include "support/temporary.h"

namespace residual::test {

// Tests that run commands on small models, which are made once. In a command line, @NAME is the
// path of a model, or of a file that another command of the suite made.
class ModelCommands : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<TemporaryDirectory>();
    const std::string cd = "cd '" + directory_->path().string() + "'\n";
    for (const std::string scheme : {"post-ln", "pre-ln", "resi-dual"}) {
      const auto made = test::run(cd + make_reverse_model(scheme, scheme));
      ASSERT_EQ(made.exit_code, 0) << made.error;
    }
    const auto small =
        test::run(cd + make_reverse_model("short", "resi-dual", "--max-positions 8"));
    ASSERT_EQ(small.exit_code, 0) << small.error;
  }
  static void TearDownTestSuite() { directory_.reset(); }

  static std::string path(const std::string& name) { return (*directory_ / name).string(); }

  static ShellResult run(std::string line) {
    for (size_t at = line.find('@'); at != std::string::npos; at = line.find('@', at)) {
      line.replace(at, 1, directory_->path().string() + "/");
    }
    return test::run(line);
  }
  // What a command that must succeed printed.
  static std::string output(const std::string& line) {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.error;
    return result.output;
  }
  static void expect_failure(const std::string& line, int code, const std::string& message) {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, code) << line;
    EXPECT_NE(result.error.find(message), std::string::npos) << line << "\n" << result.error;
  }

 private:
  inline static std::unique_ptr<TemporaryDirectory> directory_;
};

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace residual::test
