#pragma once

#include "base/config.h"
#include "base/error.h"

namespace residual::cli {

// Reads the recipe of one command. The recipes of two lie side by side: one of the other command's
// is called so, instead of by its first key that does not fit.
template <class Other, class Recipe>
void read_recipe_file(const fs::path& file, Recipe& recipe, const char* command,
                      const char* other_command) {
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
