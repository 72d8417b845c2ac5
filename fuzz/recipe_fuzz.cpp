// Reads any bytes as a recipe: the result is an Error, or a recipe whose resolved form reads back.

#include <cstdlib>
#include <string>

#include "base/config.h"
#include "data/recipe.h"
#include "fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace residual;
  return fuzz::allowing_errors([&] {
    data::Recipe recipe, again;
    read_toml(fuzz::text(data, size), "input",
              [&](ConfigVisitor& visit) { fields(visit, recipe); });
    const std::string resolved = to_toml(recipe);
    read_toml(resolved, "resolved", [&](ConfigVisitor& visit) { fields(visit, again); });
    if (to_toml(again) != resolved) std::abort();
    data::check(recipe);
  });
}
