#pragma once

#include <nlohmann/json.hpp>

#include "base/config.h"

namespace residual {

// Fills structs from a JSON object as read_toml() does from a file; errors name the key alone.
void read_json(const nlohmann::json& object, const ConfigFields& all_fields);

// Every key with its value, in the order of the fields.
nlohmann::ordered_json write_json(const ConfigFields& all_fields);
template <class Struct>
nlohmann::ordered_json write_json(Struct value) {
  return write_json(ConfigFields([&](ConfigVisitor& visit) { fields(visit, value); }));
}

// The properties of a JSON schema (as OpenAPI 3.0 has them): type, range, names and meaning of
// every key.
nlohmann::ordered_json json_schema(const ConfigFields& all_fields);
template <class Struct>
nlohmann::ordered_json json_schema() {
  Struct value;
  return json_schema([&](ConfigVisitor& visit) { fields(visit, value); });
}

}  // namespace residual
