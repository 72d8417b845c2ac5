#include "study/verify.h"

#include <fmt/format.h>

#include <set>

#include "base/checksum.h"
#include "base/error.h"
#include "run/run_directory.h"
#include "study/evaluate.h"

namespace residual::study {
namespace {

// In the order of their names.
std::set<fs::path> entries_of(const fs::path& directory) {
  std::set<fs::path> found;
  if (!fs::is_directory(directory)) return found;
  for (const auto& entry : fs::directory_iterator(directory)) found.insert(entry.path());
  return found;
}

void verify_result(const fs::path& file, run::Verification& all) {
  try {
    const Result result = read_result(file);
    const fs::path stem = fs::path(file).replace_extension();
    for (const auto& score : result.scores) check_translations(stem, score);
    if (seal_of(read_file(file)) == Seal::missing) {
      all.unchecked.push_back(file.string() +
                              ": has no checksum, so a change that leaves it readable is not "
                              "noticed");
    }
    all.checked.push_back(fmt::format("{}: {} test sets", file.string(), result.scores.size()));
  } catch (const Error& error) {
    all.problems.emplace_back(error.what());
  }
}

}  // namespace

bool is_study(const fs::path& path) {
  return fs::is_directory(path / "runs") && fs::is_directory(path / "results");
}

run::Verification verify(const fs::path& path) {
  run::Verification all;
  for (const auto& plan : entries_of(path / "results")) {
    for (const auto& file : entries_of(plan)) {
      if (file.extension() == ".toml") verify_result(file, all);
    }
  }
  for (const auto& run : entries_of(path / "runs")) {
    if (!fs::is_directory(run / run::kCheckpoints)) continue;  // it has not begun
    const run::Verification one = run::verify(run);
    for (const auto& [to, from] : {std::pair(&all.checked, &one.checked),
                                   {&all.unchecked, &one.unchecked},
                                   {&all.problems, &one.problems}}) {
      to->insert(to->end(), from->begin(), from->end());
    }
  }
  return all;
}

}  // namespace residual::study
