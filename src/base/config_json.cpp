#include "base/config_json.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/config/reader.h"
#include "base/error.h"

namespace residual {
namespace {

using nlohmann::ordered_json;

class JsonWriter : public ConfigVisitor {
 public:
  ordered_json take() { return std::move(object_); }

  void operator()(const char* key, bool& value, const char*) override { object_[key] = value; }
  void operator()(const char* key, int64_t& value, const char*, Range) override {
    object_[key] = value;
  }
  void operator()(const char* key, double& value, const char*, Range) override {
    object_[key] = value;
  }
  void operator()(const char* key, std::string& value, const char*) override {
    object_[key] = value;
  }
  void operator()(const char* key, fs::path& value, const char*) override {
    object_[key] = value.string();
  }
  void operator()(const char* key, std::vector<std::string>& value, const char*) override {
    object_[key] = value;
  }
  void operator()(const char* key, std::vector<int64_t>& value, const char*) override {
    object_[key] = value;
  }

 protected:
  void choose(const char* key, const Enumerator& value, std::span<const std::string> names,
              const char*) override {
    object_[key] = names[value.index];
  }
  void group(const char* key, const char*, const std::function<void()>& body) override {
    ordered_json inner = inside(body);
    object_[key] = std::move(inner);
  }
  void groups(const char* key, const char*, const List& list) override {
    ordered_json elements = ordered_json::array();
    for (size_t i = 0; i < list.size(); ++i) {
      elements.push_back(inside([&] { list.visit(i); }));
    }
    object_[key] = std::move(elements);
  }

 private:
  ordered_json inside(const std::function<void()>& body) {
    ordered_json outer = std::exchange(object_, ordered_json::object());
    body();
    return std::exchange(object_, std::move(outer));
  }

  ordered_json object_ = ordered_json::object();
};

class SchemaWriter : public ConfigVisitor {
 public:
  ordered_json take() { return std::move(properties_); }

  void operator()(const char* key, bool&, const char* meaning) override {
    add(key, {{"type", "boolean"}}, meaning);
  }
  void operator()(const char* key, int64_t&, const char* meaning, Range range) override {
    ordered_json schema = {{"type", "integer"}};
    if (std::isfinite(range.min)) schema["minimum"] = static_cast<int64_t>(range.min);
    if (std::isfinite(range.max)) schema["maximum"] = static_cast<int64_t>(range.max);
    add(key, std::move(schema), meaning);
  }
  void operator()(const char* key, double&, const char* meaning, Range range) override {
    ordered_json schema = {{"type", "number"}};
    if (std::isfinite(range.min)) schema["minimum"] = range.min;
    if (range.above_min) schema["exclusiveMinimum"] = true;
    if (std::isfinite(range.max)) schema["maximum"] = range.max;
    add(key, std::move(schema), meaning);
  }
  void operator()(const char* key, std::string&, const char* meaning) override {
    add(key, {{"type", "string"}}, meaning);
  }
  void operator()(const char* key, fs::path&, const char* meaning) override {
    add(key, {{"type", "string"}}, meaning);
  }
  void operator()(const char* key, std::vector<std::string>&, const char* meaning) override {
    add(key, one_or_more("string"), meaning);
  }
  void operator()(const char* key, std::vector<int64_t>&, const char* meaning) override {
    add(key, one_or_more("integer"), meaning);
  }

 protected:
  void choose(const char* key, const Enumerator&, std::span<const std::string> names,
              const char* meaning) override {
    add(key, {{"type", "string"}, {"enum", std::vector<std::string>(names.begin(), names.end())}},
        meaning);
  }
  void group(const char* key, const char* meaning, const std::function<void()>& body) override {
    add(key, object(body), meaning);
  }
  void groups(const char* key, const char* meaning, const List& list) override {
    add(key, {{"type", "array"}, {"items", object(list.visit_default)}}, meaning);
  }

 private:
  void add(const char* key, ordered_json schema, const char* meaning) {
    schema["description"] = meaning;
    properties_[key] = std::move(schema);
  }

  // Readers take a single value for a list of one.
  static ordered_json one_or_more(const char* type) {
    const ordered_json item = {{"type", type}};
    return {{"oneOf", ordered_json::array({item, {{"type", "array"}, {"items", item}}})}};
  }

  ordered_json object(const std::function<void()>& body) {
    ordered_json outer = std::exchange(properties_, ordered_json::object());
    body();
    ordered_json inner = std::exchange(properties_, std::move(outer));
    return {{"type", "object"}, {"additionalProperties", false}, {"properties", std::move(inner)}};
  }

  ordered_json properties_ = ordered_json::object();
};

// JSON as TOML has it. `key` is the value's own, or that of the list it is in.
toml::table table_of(const nlohmann::json& object, int depth);
toml::array array_of(const std::string& key, const nlohmann::json& list, int depth);

// Calls use() with the value.
template <class Use>
void as_toml(const std::string& key, const nlohmann::json& value, int depth, const Use& use) {
  constexpr int kDeepest = 8;  // guards the stack against hostile nesting
  require(depth < kDeepest, "{}: nested too deeply", key);
  require(!value.is_null(), "{}: must not be null; leave it out", key);
  if (value.is_object()) return use(table_of(value, depth + 1));
  if (value.is_array()) return use(array_of(key, value, depth + 1));
  if (value.is_string()) return use(value.get<std::string>());
  if (value.is_boolean()) return use(value.get<bool>());
  if (value.is_number_float()) return use(value.get<double>());
  require(!value.is_number_unsigned() ||
              value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()),
          "{}: {} is too large", key, value.get<uint64_t>());
  use(value.get<int64_t>());
}

toml::array array_of(const std::string& key, const nlohmann::json& list, int depth) {
  toml::array array;
  for (const auto& item : list) {
    as_toml(key, item, depth, [&](auto made) { array.push_back(std::move(made)); });
  }
  return array;
}

toml::table table_of(const nlohmann::json& object, int depth) {
  toml::table table;
  for (const auto& item : object.items()) {
    as_toml(item.key(), item.value(), depth,
            [&](auto made) { table.insert(item.key(), std::move(made)); });
  }
  return table;
}

}  // namespace

void read_json(const nlohmann::json& object, const ConfigFields& all_fields) {
  require(object.is_object(), "expected a JSON object, got {}", object.type_name());
  read_table(table_of(object, 0), "", all_fields);
}

ordered_json write_json(const ConfigFields& all_fields) {
  JsonWriter writer;
  all_fields(writer);
  return writer.take();
}

ordered_json json_schema(const ConfigFields& all_fields) {
  SchemaWriter writer;
  all_fields(writer);
  return writer.take();
}

}  // namespace residual
