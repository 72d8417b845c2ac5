#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"

// Whether this machine can do the work: what was looked at, what was found, what mends it.
namespace residual::doctor {

enum class Status {
  ok,
  note,     // works, but slower or with less than there could be
  problem,  // something that users need does not work
};

struct Check {
  std::string name;
  Status status = Status::ok;
  std::string found;
  std::string fix;                        // a command, or what to do; empty if all is well
  std::map<std::string, double> figures;  // the numbers in `found`, for programs
};

// CPU, cores, memory, directories, locale, programs that `residual fetch` runs.
std::vector<Check> check_machine();

// Products against plain loops, a model made up on the spot with one thread and with all, and how
// fast memory and products are. Takes a few seconds.
std::vector<Check> self_test();

// Whether `residual`, the program at that path, finds residual-train and whether both are of one
// version; with `run`, also a few updates of training.
std::vector<Check> check_training(const fs::path& residual, bool run);

// A check that could not be carried out is a problem with the reason.
Check guarded(const std::string& name, const std::string& fix, const std::function<Check()>& body);

}  // namespace residual::doctor
