#pragma once

#include "base/config.h"
#include "base/error.h"
#include "cli/command.h"

namespace residual::cli {

// Reads the recipe of one command. `prepare` and `train` recipes share a directory; if the file is
// a recipe for the other command, the message says so instead of naming the first unknown key.
template <class Other, class Recipe>
void read_recipe_file(const fs::path& file, Recipe& recipe, const char* command,
                      const char* other_command) {
  require_recipe(file);
  try {
    read_layered_config(file, recipe);
  } catch (const Error&) {
    try {
      Other other;
      read_layered_config(file, other);
    } catch (const Error&) {
      other_command = nullptr;
    }
    if (other_command == nullptr) throw;
    fail("{}: is a recipe for `residual {}`, not for `residual {}`", file.string(), other_command,
         command);
  }
}

}  // namespace residual::cli
