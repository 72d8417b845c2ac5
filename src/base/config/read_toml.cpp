#include <algorithm>

#include "base/config/reader.h"
#include "base/error.h"

namespace residual {
namespace {

toml::table parse(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    fail("{}:{}: not valid TOML: {}", name, error.source().begin.line, error.description());
  }
}

// Takes the key `extends` out of the document.
std::vector<std::string> take_bases(toml::table& root, const std::string& name) {
  std::vector<std::string> bases;
  const auto add = [&](const toml::node& node) {
    require(node.is_string(), "{}:{}: extends: expected the name of a file, got {}", name,
            node.source().begin.line, type_name(node));
    bases.push_back(node.as_string()->get());
  };
  if (const toml::node* node = root.get("extends")) {
    if (const toml::array* list = node->as_array()) {
      for (const toml::node& item : *list) add(item);
    } else {
      add(*node);
    }
    root.erase("extends");
  }
  return bases;
}

// `open`: the files that led to this one, itself last.
void read_layers(const std::vector<fs::path>& open, const ConfigFields& all_fields) {
  const fs::path& file = open.back();
  const std::string name = file.string();
  toml::table root = parse(read_file(file), name);
  for (const auto& base : take_bases(root, name)) {
    std::vector<fs::path> chain = open;
    chain.push_back((file.parent_path() / base).lexically_normal());
    require(std::count(open.begin(), open.end(), chain.back()) == 0,
            "{}: extends {}, which extends it in turn", name, chain.back().string());
    require(fs::exists(chain.back()), "{}: extends {}, which does not exist", name,
            chain.back().string());
    read_layers(chain, all_fields);
  }
  read_table(root, name, all_fields);
}

}  // namespace

void read_toml(std::string_view text, const std::string& name, const ConfigFields& all_fields) {
  read_table(parse(text, name), name, all_fields);
}

void read_layered_toml(const fs::path& file, const ConfigFields& all_fields) {
  read_layers({file.lexically_normal()}, all_fields);
}

}  // namespace residual
