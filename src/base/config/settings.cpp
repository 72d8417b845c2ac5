#include "base/config/reader.h"
#include "base/config/toml_text.h"
#include "base/error.h"

namespace residual {
namespace {

// The setting is the path of its nodes' sources: from there a reader takes the text of the value,
// and errors the setting's name.
toml::table parse(const std::string& setting, const std::string& name) {
  const size_t equals = setting.find('=');
  require(equals != std::string::npos && equals > 0, "{}: expected key=value", name);
  const std::string key = setting.substr(0, equals);
  const std::string value = setting.substr(equals + 1);
  try {
    return toml::parse(fmt::format("{} = {}", key, value), setting);
  } catch (const toml::parse_error&) {
    try {
      return toml::parse(fmt::format("{} = {}", key, quote(value)), setting);
    } catch (const toml::parse_error& error) {
      fail("{}: expected key=value: {}", name, error.description());
    }
  }
}

// Whether the tables cannot be one: a key is a table in one of them and something else in the
// other, as after items=[...] in items.0.file=x.
bool clash(const toml::table& a, const toml::table& b) {
  for (const auto& [key, node] : b) {
    const toml::node* const other = a.get(key.str());
    if (other == nullptr) continue;
    if (other->is_table() != node.is_table()) return true;
    if (node.is_table() && clash(*other->as_table(), *node.as_table())) return true;
  }
  return false;
}

// REQUIRES: they do not clash.
void merge(toml::table& into, toml::table&& from) {
  for (auto&& [key, node] : from) {
    toml::node* const other = into.get(key.str());
    if (other != nullptr && other->is_table()) {
      merge(*other->as_table(), std::move(*node.as_table()));
    } else {  // moved, because copies of nodes have no sources
      node.visit([&, &at = key](auto& value) { into.insert_or_assign(at, std::move(value)); });
    }
  }
}

}  // namespace

// All settings are read as one document, in the order of the fields: which keys a table has may
// depend on another setting, wherever that stands.
void apply_settings(std::span<const std::string> settings, const ConfigFields& all_fields,
                    const std::string& name_prefix) {
  toml::table all;
  for (const auto& setting : settings) {
    toml::table one = parse(setting, name_prefix + setting);
    if (clash(all, one)) read_table(std::exchange(all, {}), name_prefix, all_fields);
    merge(all, std::move(one));
  }
  read_table(all, name_prefix, all_fields);
}

}  // namespace residual
