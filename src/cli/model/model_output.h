#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/progress.h"
#include "model/directory.h"
#include "model/parameters.h"
#include "model/replaceable.h"
#include "run/run_directory.h"

namespace residual::cli {

// The output path of a command that writes a model. An existing file or directory is kept unless
// --force is given.
struct ModelOutput {
  fs::path path;
  bool force = false;

  void add_to(CLI::App& command, const char* type_name, const std::string& group) {
    command.add_option("-o,--output", path, "output path of the model")
        ->required()
        ->type_name(type_name)
        ->group(group);
    command.add_flag("--force", force, "replace a previous result")->group(group);
  }

  // Fails before long work if the output exists and may not be replaced, or belongs to a run.
  // Devices and pipes are allowed.
  void check() const {
    const fs::path absolute = fs::absolute(path).lexically_normal();
    const std::string name = absolute.filename();
    const bool is_runs_own = (name == "best" || name == "last" || name == run::kCheckpoints) &&
                             run::has_begun(absolute.parent_path());
    require(!is_runs_own,
            "{}: belongs to the run {}, which a model would damage; give another path",
            path.string(), absolute.parent_path().string());
    const bool would_replace = fs::is_regular_file(path) || fs::is_directory(path);
    require(force || !would_replace,
            "{}: already exists; give another path, or --force to replace it", path.string());
    if (would_replace) model::require_replaceable(path);
  }
};

// Prints a summary of an imported model.
inline void print_import(const fs::path& path, const model::Description& made) {
  std::vector<std::string> targets;
  for (const auto& d : made.directions) targets.push_back(d.target);
  fmt::print(
      "{}: {} model from {} to {}, {} encoder and {} decoder layers of width {}, {} parameters\n",
      path.string(), made.model.residual.name, made.directions[0].source, fmt::join(targets, ", "),
      made.model.encoder_layers, made.model.decoder_layers, made.model.width,
      format_count(static_cast<uint64_t>(model::parameter_count(made.model))));
}

}  // namespace residual::cli
