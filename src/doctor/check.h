#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"

// Checks of this machine: each has a name, a finding and a fix.
namespace residual::doctor {

enum class Status {
  ok,
  note,     // works, but slower or with less than is possible
  problem,  // a necessary part does not work
};

struct Check {
  std::string name;
  Status status = Status::ok;
  std::string found;
  std::string fix;                        // a command or advice; empty if there is no problem
  std::map<std::string, double> figures;  // the numbers in `found`, for programs
};

// Checks CPU, cores, memory, directories, locale and the programs that `residual fetch` runs.
std::vector<Check> check_machine();

// Compares matrix products with plain loops, compares a random model's translations with one and
// with all threads, and measures the speed of memory and products. Takes a few seconds.
std::vector<Check> self_test();

// Checks that `residual`, the program at that path, finds residual-train and that both have the
// same version; with `run`, also trains for a few updates.
std::vector<Check> check_training(const fs::path& residual, bool run);

// Lets residual-train compare the reference operators on a device, "cuda" or "cpu", with the CPU's:
// the first updates of every residual scheme.
std::vector<Check> check_device(const fs::path& residual, const std::string& device);

// Runs a check; an exception becomes a problem with its message as the finding.
Check guarded(const std::string& name, const std::string& fix, const std::function<Check()>& body);

}  // namespace residual::doctor
