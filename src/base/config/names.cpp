#include <algorithm>

#include "base/config.h"
#include "base/config/toml_text.h"
#include "base/error.h"
#include "base/suggest.h"

namespace residual {

size_t index_of_name(const std::string& what, const std::string& name,
                     std::span<const std::string> names) {
  const auto found = std::ranges::find(names, name);
  require(found != names.end(), "{}: expected one of {}, got \"{}\"{}", what, joined(names, ", "),
          name, suggestion(name, names));
  return static_cast<size_t>(found - names.begin());
}

}  // namespace residual
