#include "base/config.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/config_json.h"
#include "base/error.h"
#include "base/suggest.h"

namespace residual {
namespace {

std::string dotted(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string joined(std::span<const std::string> items, std::string_view separator) {
  return fmt::format("{}", fmt::join(items.begin(), items.end(), separator));
}

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

// Finds the keys of a table that have their default values. Lists and tables are not looked at.
class Defaults : public ConfigVisitor {
 public:
  Defaults(const toml::table& table, std::set<std::string>& found) : table_(table), found_(found) {}

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
    if (node != nullptr && node->value<T>() == value) found_.insert(key);
  }

  const toml::table& table_;
  std::set<std::string>& found_;
};

// Fills the struct from a parsed document. Keys that no field asked for are unknown.
class Reader : public ConfigVisitor {
 public:
  // `name` and the line precede errors, unless `name` is empty. `raw` is the text of a --set value,
  // which a string key takes verbatim.
  Reader(const toml::table& root, std::string name, const std::string* raw = nullptr)
      : name_(std::move(name)), raw_(raw), table_(&root) {}

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
  void pass_over_defaults(const ConfigFields& others) override {
    Defaults defaults(*table_, passed_over_);
    others(defaults);
  }

 protected:
  void choose(const char* key, const Enumerator& value, std::span<const std::string> names,
              const char*) override {
    const toml::node* node = find(key);
    if (!node) return;
    const std::string name = string(*node, key);
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return value.set(i);
    }
    fail("{}{}: expected one of {}, got \"{}\"{}", where(*node), dotted(path_, key),
         joined(names, ", "), name, suggestion(name, names));
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
    if (node->is_table() && raw_) {
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
    return raw_ ? name_ + ": " : fmt::format("{}:{}: ", name_, source.begin.line);
  }
  std::string where(const toml::node& node) const { return where(node.source()); }

  template <class T>
  T scalar(const toml::node& node, const char* key, const char* expected) const {
    require(node.is<T>(), "{}{}: expected {}, got {}", where(node), dotted(path_, key), expected,
            raw_ ? quote(*raw_) : std::string(type_name(node)));
    return node.as<T>()->get();
  }

  std::string string(const toml::node& node, const char* key) const {
    if (raw_ && !node.is_string() && !node.is_array()) return *raw_;
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
    body();
    refuse_unknown();
    table_ = outer_table;
    path_ = std::move(outer_path);
    known_ = std::move(outer_known);
    passed_over_ = std::move(outer_passed_over);
  }

  void refuse_unknown() const {
    for (const auto& [key, node] : *table_) {
      const std::string name(key.str());
      if (known_.contains(name) || passed_over_.contains(name)) continue;
      const std::vector<std::string> known(known_.begin(), known_.end());
      const std::string hint = suggestion(name, known);
      fail("{}unknown key \"{}\"{}", where(key.source()), dotted(path_, name),
           hint.empty() ? "; known here: " + joined(known, ", ") : hint);
    }
  }

  std::string name_;
  const std::string* raw_;
  const toml::table* table_;
  std::string path_;  // of table_, dotted
  std::set<std::string> known_, passed_over_;
};

class Writer : public ConfigVisitor {
 public:
  explicit Writer(bool explain) : explain_(explain) {}

  std::string text() const { return head_ + tail_; }

  void operator()(const char* key, bool& value, const char* meaning) override {
    line(key, value ? "true" : "false", meaning);
  }
  void operator()(const char* key, int64_t& value, const char* meaning, Range) override {
    line(key, fmt::format("{}", value), meaning);
  }
  void operator()(const char* key, double& value, const char* meaning, Range) override {
    line(key, number(value), meaning);
  }
  void operator()(const char* key, std::string& value, const char* meaning) override {
    line(key, quote(value), meaning);
  }
  void operator()(const char* key, fs::path& value, const char* meaning) override {
    line(key, quote(value.string()), meaning);
  }
  void operator()(const char* key, std::vector<std::string>& value, const char* meaning) override {
    std::vector<std::string> items;
    for (const auto& item : value) items.push_back(quote(item));
    line(key, fmt::format("[{}]", joined(items, ", ")), meaning);
  }
  void operator()(const char* key, std::vector<int64_t>& value, const char* meaning) override {
    line(key, fmt::format("[{}]", fmt::join(value, ", ")), meaning);
  }

 protected:
  void choose(const char* key, const Enumerator& value, std::span<const std::string> names,
              const char* meaning) override {
    line(key, quote(names[value.index]),
         fmt::format("{}; one of {}", meaning, joined(names, ", ")));
  }
  void group(const char* key, const char* meaning, const std::function<void()>& body) override {
    section(key, "[{}]", meaning, body);
  }
  void groups(const char* key, const char* meaning, const List& list) override {
    if (explain_ && list.size() == 0) section(key, "[[{}]]", meaning, list.visit_default);
    for (size_t i = 0; i < list.size(); ++i) {
      section(key, "[[{}]]", meaning, [&] { list.visit(i); });
    }
  }

 private:
  void line(const char* key, const std::string& value, const std::string& meaning) {
    if (explain_) head_ += fmt::format("# {}\n", meaning);
    head_ += fmt::format("{} = {}\n", key, value);
  }

  // TOML wants a table's own keys before its sub-tables: sections gather in tail_.
  void section(const char* key, const char* header, const char* meaning,
               const std::function<void()>& body) {
    std::string head = std::exchange(head_, "");
    std::string tail = std::exchange(tail_, "");
    std::string outer = std::exchange(path_, dotted(path_, key));
    body();
    tail += '\n';
    if (explain_) tail += fmt::format("# {}\n", meaning);
    tail += fmt::format(fmt::runtime(header), path_) + '\n' + head_ + tail_;
    head_ = std::move(head);
    tail_ = std::move(tail);
    path_ = std::move(outer);
  }

  bool explain_;
  std::string head_, tail_, path_;
};

class RangeChecker : public ConfigVisitor {
 public:
  explicit RangeChecker(const NameOfKey& name_of_key) : name_of_key_(name_of_key) {}

  void operator()(const char* key, int64_t& value, const char*, Range range) override {
    check(key, static_cast<double>(value), range);
  }
  void operator()(const char* key, double& value, const char*, Range range) override {
    check(key, value, range);
  }
  void operator()(const char*, bool&, const char*) override {}
  void operator()(const char*, std::string&, const char*) override {}
  void operator()(const char*, fs::path&, const char*) override {}
  void operator()(const char*, std::vector<std::string>&, const char*) override {}
  void operator()(const char*, std::vector<int64_t>&, const char*) override {}

 protected:
  void choose(const char*, const Enumerator&, std::span<const std::string>, const char*) override {}
  void group(const char* key, const char*, const std::function<void()>& body) override {
    const std::string outer = std::exchange(path_, dotted(path_, key));
    body();
    path_ = outer;
  }
  void groups(const char* key, const char*, const List& list) override {
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string element = dotted(key, std::to_string(i));
      group(element.c_str(), "", [&] { list.visit(i); });
    }
  }

 private:
  void check(const char* key, double value, Range range) const {
    const std::string fault = range_fault(value, range);
    require(fault.empty(), "{}: {}", name_of_key_(dotted(path_, key)), fault);
  }

  const NameOfKey& name_of_key_;
  std::string path_;
};

toml::table parse(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    fail("{}:{}: not valid TOML: {}", name, error.source().begin.line, error.description());
  }
}

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
  Reader(root, name).read(all_fields);
}

}  // namespace

std::string range_fault(double value, Range range) {
  const bool is_limited = std::isfinite(range.min) || std::isfinite(range.max);
  if (is_limited && !std::isfinite(value)) {
    return fmt::format("must be a finite number, is {}", value);
  }
  if (range.above_min && value <= range.min) {
    return fmt::format("must be greater than {}, is {}", range.min, value);
  }
  if (value < range.min) return fmt::format("must be at least {}, is {}", range.min, value);
  if (value > range.max) return fmt::format("must be at most {}, is {}", range.max, value);
  return "";
}

void check_ranges(const ConfigFields& all_fields, const NameOfKey& name_of_key) {
  RangeChecker checker(name_of_key);
  all_fields(checker);
}

void read_toml(std::string_view text, const std::string& name, const ConfigFields& all_fields) {
  Reader(parse(text, name), name).read(all_fields);
}

void read_json(const nlohmann::json& object, const ConfigFields& all_fields) {
  require(object.is_object(), "expected a JSON object, got {}", object.type_name());
  Reader(table_of(object, 0), "").read(all_fields);
}

void read_layered_toml(const fs::path& file, const ConfigFields& all_fields) {
  read_layers({file.lexically_normal()}, all_fields);
}

void apply_setting(const std::string& setting, const ConfigFields& all_fields,
                   const std::string& name_prefix) {
  const size_t equals = setting.find('=');
  const std::string name = name_prefix + setting;
  require(equals != std::string::npos && equals > 0, "{}: expected key=value", name);
  const std::string key = setting.substr(0, equals);
  const std::string value = setting.substr(equals + 1);
  toml::table root;
  try {
    root = toml::parse(fmt::format("{} = {}", key, value));
  } catch (const toml::parse_error&) {
    try {
      root = toml::parse(fmt::format("{} = {}", key, quote(value)));
    } catch (const toml::parse_error& error) {
      fail("{}: expected key=value: {}", name, error.description());
    }
  }
  Reader(root, name, &value).read(all_fields);
}

std::string write_toml(const ConfigFields& all_fields, bool explain) {
  Writer writer(explain);
  all_fields(writer);
  return writer.text();
}

}  // namespace residual
