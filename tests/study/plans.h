#pragma once

#include <string>

#include "study/plan.h"
#include "support/tiny_run.h"

namespace residual::test {

// A plan over the reverse task: a file that can be changed and read again.
class TinyPlan {
 public:
  TinyPlan() {
    replace_file(directory_ / "tiny.toml", to_toml(task_.config()));
    base_ = "recipe = \"tiny.toml\"\ncorpus = \"" + task_.prepared().string() + "\"\n";
  }

  // `head` holds top-level keys, `tables` what follows them.
  fs::path write(const std::string& head, const std::string& tables) const {
    const std::string tests = "\n[[evaluate.tests]]\nname = \"dev\"\nsource = \"" +
                              task_.path("dev.en").string() + "\"\nreference = \"" +
                              task_.path("dev.de").string() + "\"\n";
    replace_file(directory_ / "plan.toml", base_ + head + tables + tests);
    return directory_ / "plan.toml";
  }
  study::Plan load(const std::string& head, const std::string& tables) const {
    return study::load_plan(write(head, tables));
  }

  fs::path output() const { return directory_ / "study"; }
  fs::path path(const std::string& name) const { return directory_ / name; }
  const ReverseTask& task() const { return task_; }

 private:
  ReverseTask task_;
  TemporaryDirectory directory_;
  std::string base_;
};

inline constexpr const char* kTwoSchemes =
    "[[schemes]]\nname = \"post-ln\"\n[[schemes]]\nname = \"resi-dual\"\n";

}  // namespace residual::test
