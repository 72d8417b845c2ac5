#pragma once

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "interop/flat_yaml.h"
#include "model/safetensors.h"

// The files of a directory that Hugging Face's library saves.
namespace residual::interop {

// One of the library's files of settings.
class Settings {
 public:
  explicit Settings(const fs::path& path)
      : name_(path.string()),
        values_(nlohmann::json::parse(read_file(path), nullptr, /*allow_exceptions=*/false)) {
    require(values_.is_object(), "{}: is not a JSON object", name_);
  }
  // Those of a file that a directory may lack, and then has none.
  static Settings of_optional(const fs::path& path) {
    return fs::exists(path) ? Settings(path) : Settings();
  }

  const std::string& name() const { return name_; }
  const nlohmann::json& values() const { return values_; }
  // A key with null is as good as absent.
  bool contains(const std::string& key) const {
    return values_.contains(key) && !values_[key].is_null();
  }
  std::string text(const std::string& key, const std::string& otherwise) const {
    if (!contains(key)) return otherwise;
    const auto& value = values_[key];
    return value.is_string() ? value.get<std::string>() : value.dump();
  }
  int64_t number(const std::string& key) const {
    require(contains(key), "{}: has no {}", name_, key);
    const std::string value = text(key, "");
    const auto number = whole_number(value);
    require(number.has_value(), "{}: {}: expected a number, got \"{}\"", name_, key, value);
    return *number;
  }
  int64_t number(const std::string& key, int64_t otherwise) const {
    return contains(key) ? number(key) : otherwise;
  }
  double real(const std::string& key, double otherwise) const {
    if (!contains(key)) return otherwise;
    require(values_[key].is_number(), "{}: {}: expected a number, got {}", name_, key,
            values_[key].dump());
    return values_[key].get<double>();
  }
  bool is_on(const std::string& key, bool otherwise) const {
    const std::string value = text(key, otherwise ? "true" : "false");
    require(value == "true" || value == "false", "{}: {}: expected true or false, got \"{}\"",
            name_, key, value);
    return value == "true";
  }

  // The key must have one of these values; where it is absent, the library takes `otherwise`.
  void expect(const std::string& key, const std::string& otherwise,
              const std::vector<std::string>& values) const {
    const std::string value = text(key, otherwise);
    require(std::ranges::find(values, value) != values.end(),
            "{}: {} is \"{}\"; this version imports models with \"{}\"", name_, key, value,
            fmt::join(values, "\" or \""));
  }
  void expect_same(const std::string& a, const std::string& b) const {
    require(number(a) == number(b), "{}: {} is {} and {} is {}; expected one number for both",
            name_, a, number(a), b, number(b));
  }

 private:
  Settings() : values_(nlohmann::json::object()) {}

  std::string name_;
  nlohmann::json values_;
};

// Tensors of the file; each is to be used.
class Tensors {
 public:
  explicit Tensors(const fs::path& path) : file_(model::SafeTensors::open(path)) {}

  const std::string& file() const { return file_.name(); }
  bool contains(const std::string& name) const { return file_.contains(name); }
  std::vector<float> take(const std::string& name, const std::vector<int64_t>& shape) {
    const model::TensorView& found = file_.at(name);
    require(found.shape == shape, "{}: {} has shape [{}], expected [{}]", file_.name(), name,
            fmt::join(found.shape, ", "), fmt::join(shape, ", "));
    used_.insert(name);
    return found.to_float();
  }
  // A matrix that goes by several names, of which the file has some.
  std::vector<float> take_one(const std::vector<std::string>& names,
                              const std::vector<int64_t>& shape) {
    std::string first;
    std::vector<float> values;
    for (const auto& name : names) {
      if (!contains(name)) continue;
      auto read = take(name, shape);
      require(first.empty() || read == values,
              "{}: {} and {} differ, but config.json says that they are shared", file_.name(),
              first, name);
      first = name;
      values = std::move(read);
    }
    require(!first.empty(), "{}: has no {}", file_.name(), fmt::join(names, " or "));
    return values;
  }

  // Tensors that change no logits.
  void pass_over(const std::function<bool(const std::string& name)>& is_idle) {
    for (const auto& [name, found] : file_.tensors()) {
      if (is_idle(name)) used_.insert(name);
    }
  }
  // An Error if the file has more, which would mean another architecture.
  void check_all_used() const {
    for (const auto& [name, found] : file_.tensors()) {
      require(used_.contains(name), "{}: has {}, which a model with its options does not use",
              file_.name(), name);
    }
  }

 private:
  model::SafeTensors file_;
  std::set<std::string> used_;
};

}  // namespace residual::interop
