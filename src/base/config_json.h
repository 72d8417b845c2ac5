#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/config.h"

namespace residual {

// Fills structs from a JSON object as read_toml() does from a file; errors name the key alone.
void read_json(const nlohmann::json& object, const ConfigFields& all_fields);

}  // namespace residual
