#include "base/config/reader.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/config/toml_text.h"
#include "base/error.h"
#include "base/suggest.h"

namespace residual {
namespace {

// Finds the keys of a table that another one may have: those with that one's values, and all.
// Lists and tables are not looked at.
class OtherKeys : public ConfigVisitor {
 public:
  explicit OtherKeys(const toml::table& table) : table_(table) {}

  std::set<std::string> same, all;

  void operator()(const char* key, bool& value, const char*) override { compare(key, value); }
  void operator()(const char* key, int64_t& value, const char*, Range) override {
    compare(key, value);
  }
  void operator()(const char* key, double& value, const char*, Range) override {
    compare(key, value);
  }
  void operator()(const char* key, std::string& value, const char*) override {
    compare(key, value);
  }
  void operator()(const char* key, fs::path& value, const char*) override {
    compare(key, value.string());
  }
  void operator()(const char*, std::vector<std::string>&, const char*) override {}
  void operator()(const char*, std::vector<int64_t>&, const char*) override {}

 protected:
  void choose(const char* key, const Enumerator& value, std::span<const std::string> names,
              const char*) override {
    compare(key, names[value.index]);
  }
  void group(const char*, const char*, const std::function<void()>&) override {}
  void groups(const char*, const char*, const List&) override {}

 private:
  template <class T>
  void compare(const char* key, const T& value) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    all.insert(key);
    if (node->value<T>() == value) same.insert(key);
  }

  const toml::table& table_;
};

// The value's text, for a node of a setting.
std::optional<std::string> text_of_setting(const toml::node& node) {
  const auto& setting = node.source().path;
  if (setting == nullptr) return std::nullopt;
  return setting->substr(setting->find('=') + 1);
}

class Reader : public ConfigVisitor {
 public:
  Reader(const toml::table& root, std::string name) : name_(std::move(name)), table_(&root) {}

  void read(const ConfigFields& all_fields) {
    all_fields(*this);
    refuse_unknown();
  }

  void operator()(const char* key, bool& value, const char*) override {
    if (const toml::node* node = find(key)) value = scalar<bool>(*node, key, "true or false");
  }
  void operator()(const char* key, int64_t& value, const char*, Range range) override {
    const toml::node* node = find(key);
    if (!node) return;
    const auto number = scalar<int64_t>(*node, key, "an integer");
    check_range(*node, key, static_cast<double>(number), range);
    value = number;
  }
  void operator()(const char* key, double& value, const char*, Range range) override {
    const toml::node* node = find(key);
    if (!node) return;
    const double number = node->is_integer() ? static_cast<double>(node->as_integer()->get())
                                             : scalar<double>(*node, key, "a number");
    check_range(*node, key, number, range);
    value = number;
  }
  void operator()(const char* key, std::string& value, const char*) override {
    if (const toml::node* node = find(key)) value = string(*node, key);
  }
  void operator()(const char* key, fs::path& value, const char*) override {
    if (const toml::node* node = find(key)) value = string(*node, key);
  }
  void operator()(const char* key, std::vector<std::string>& value, const char*) override {
    list(key, value, [&](const toml::node& node) { return string(node, key); });
  }
  void operator()(const char* key, std::vector<int64_t>& value, const char*) override {
    list(key, value,
         [&](const toml::node& node) { return scalar<int64_t>(node, key, "an integer"); });
  }
  void pass_over_defaults(const std::string& owner, const ConfigFields& others) override {
    OtherKeys keys(*table_);
    others(keys);
    passed_over_.merge(keys.same);
    for (const auto& key : keys.all) owners_.emplace(key, owner);
  }

 protected:
  void choose(const char* key, const Enumerator& value, std::span<const std::string> names,
              const char*) override {
    const toml::node* node = find(key);
    if (!node) return;
    value.set(index_of_name(where(*node) + dotted(path_, key), string(*node, key), names));
  }

  void group(const char* key, const char*, const std::function<void()>& body) override {
    const toml::node* node = find(key);
    if (!node) return;
    require(node->is_table(), "{}{}: expected a table, got {}", where(*node), dotted(path_, key),
            type_name(*node));
    inside(*node->as_table(), dotted(path_, key), body);
  }

  void groups(const char* key, const char*, const List& elements) override {
    const toml::node* node = find(key);
    if (!node) return;
    const std::string path = dotted(path_, key);
    if (node->is_table() && text_of_setting(*node)) {
      for (const auto& [name, element] : *node->as_table()) {
        set_element(std::string(name.str()), element, path, elements);
      }
      return;
    }
    require(node->is_array_of_tables() || (node->is_array() && node->as_array()->empty()),
            "{}{}: expected a list of tables, got {}", where(*node), path, type_name(*node));
    const toml::array& array = *node->as_array();
    elements.resize(0);
    elements.resize(array.size());
    for (size_t i = 0; i < array.size(); ++i) {
      inside(*array[i].as_table(), fmt::format("{}.{}", path, i), [&] { elements.visit(i); });
    }
  }

 private:
  const toml::node* find(const char* key) {
    known_.insert(key);
    return table_->get(key);
  }

  std::string where(const toml::source_region& source) const {
    if (name_.empty()) return "";
    if (source.path != nullptr) return fmt::format("{}{}: ", name_, *source.path);
    return fmt::format("{}:{}: ", name_, source.begin.line);
  }
  std::string where(const toml::node& node) const { return where(node.source()); }

  template <class T>
  T scalar(const toml::node& node, const char* key, const char* expected) const {
    if (node.is<T>()) return node.as<T>()->get();
    const auto text = text_of_setting(node);
    fail("{}{}: expected {}, got {}", where(node), dotted(path_, key), expected,
         text ? quote(*text) : std::string(type_name(node)));
  }

  std::string string(const toml::node& node, const char* key) const {
    // A string key takes the text of a setting as it is: name=1 gives "1".
    const auto text = text_of_setting(node);
    if (text && !node.is_string() && !node.is_array()) return *text;
    return scalar<std::string>(node, key, "a string");
  }

  template <class T, class Convert>
  void list(const char* key, std::vector<T>& value, const Convert& convert) {
    const toml::node* node = find(key);
    if (!node) return;
    std::vector<T> items;
    if (const toml::array* array = node->as_array()) {
      for (const toml::node& item : *array) items.push_back(convert(item));
    } else {
      items.push_back(convert(*node));
    }
    value = std::move(items);
  }

  void check_range(const toml::node& node, const char* key, double value, Range range) const {
    const std::string fault = range_fault(value, range);
    require(fault.empty(), "{}{}: {}", where(node), dotted(path_, key), fault);
  }

  void set_element(const std::string& index, const toml::node& node, const std::string& path,
                   const List& elements) {
    const bool is_number = !index.empty() && index.size() < 10 &&
                           index.find_first_not_of("0123456789") == std::string::npos;
    require(is_number && std::stoul(index) < elements.size(),
            "{}{}: expected an element's index from 0 to {}, got \"{}\"", where(node), path,
            elements.size() - 1, index);
    require(node.is_table(), "{}{}.{}: expected a table, got {}", where(node), path, index,
            type_name(node));
    inside(*node.as_table(), dotted(path, index), [&] { elements.visit(std::stoul(index)); });
  }

  void inside(const toml::table& table, std::string path, const std::function<void()>& body) {
    const toml::table* const outer_table = std::exchange(table_, &table);
    auto outer_path = std::exchange(path_, std::move(path));
    auto outer_known = std::exchange(known_, {});
    auto outer_passed_over = std::exchange(passed_over_, {});
    auto outer_owners = std::exchange(owners_, {});
    body();
    refuse_unknown();
    table_ = outer_table;
    path_ = std::move(outer_path);
    known_ = std::move(outer_known);
    passed_over_ = std::move(outer_passed_over);
    owners_ = std::move(outer_owners);
  }

  void refuse_unknown() const {
    for (const auto& [key, node] : *table_) {
      const std::string name(key.str());
      if (known_.contains(name) || passed_over_.contains(name)) continue;
      fail("{}unknown key \"{}\"{}", where(key.source()), dotted(path_, name), hint_for(name));
    }
  }

  std::string hint_for(const std::string& unknown) const {
    const std::vector<std::string> known(known_.begin(), known_.end());
    const auto owner = owners_.find(unknown);
    if (owner == owners_.end()) {
      const std::string hint = suggestion(unknown, known);
      if (!hint.empty()) return hint;
    }
    return fmt::format("{}; known here: {}",
                       owner == owners_.end() ? "" : fmt::format("; {} has it", owner->second),
                       joined(known, ", "));
  }

  std::string name_;
  const toml::table* table_;
  std::string path_;  // of table_, dotted
  std::set<std::string> known_, passed_over_;
  std::map<std::string, std::string> owners_;  // of keys that pass_over_defaults() was told of
};

}  // namespace

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

void read_table(const toml::table& root, const std::string& name, const ConfigFields& all_fields) {
  Reader(root, name).read(all_fields);
}

}  // namespace residual
