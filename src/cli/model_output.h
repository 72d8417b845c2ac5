#pragma once

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/files.h"
#include "model/safetensors.h"

namespace residual::cli {

// Where a command puts the model it makes. What is there stays unless --force is given.
struct ModelOutput {
  fs::path path;
  bool force = false;

  void add_to(CLI::App& command, const char* type_name, const std::string& group) {
    command.add_option("-o,--output", path, "what to make")
        ->required()
        ->type_name(type_name)
        ->group(group);
    command.add_flag("--force", force, "replace an earlier result that is there")->group(group);
  }

  // Before long work. Devices and pipes are written to.
  void check() const {
    const bool would_replace = fs::is_regular_file(path) || fs::is_directory(path);
    require(force || !would_replace,
            "{}: already exists; give another path, or --force to replace it", path.string());
    if (!fs::is_regular_file(path)) return;
    try {
      model::SafeTensors::open(path);
    } catch (const Error&) {
      fail("{}: already exists and is no model; give another path, or remove it", path.string());
    }
  }
};

}  // namespace residual::cli
