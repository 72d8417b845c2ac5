#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

// Configuration: plain structs whose members carry the defaults, and beside each struct one
// function that names its keys,
//
//   enum class Stage { raw, tokens };
//   constexpr auto names(Stage) { return std::array{"raw", "tokens"}; }
//
//   struct CleanOptions { int64_t min_words = 1; Stage stage = Stage::raw; };
//   void fields(ConfigVisitor& visit, CleanOptions& options) {
//     visit("min_words", options.min_words, "pairs with fewer words on a side are dropped",
//           {.min = 0});
//     visit.choice("stage", options.stage, "where pairs are counted");
//   }
//
// from which visitors derive everything else: reading TOML and JSON, --set key=value, flags of the
// command line (cli/flags.h), writing the resolved configuration, a JSON schema, checks of ranges,
// and a listing of every key with its default and meaning.
namespace residual {

struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool above_min = false;  // the minimum itself is not allowed
};

// "must be at least 1, is 0"; empty if the range has the value.
std::string range_fault(double value, Range range);

// The name of an enumerator, by names() beside its enumeration.
template <class Enumeration>
constexpr const char* name_of(Enumeration value) {
  return names(value)[static_cast<size_t>(value)];
}

// The place of a name among others. Fails, beginning with `what` and with a suggestion, if it is
// not among them.
size_t index_of_name(const std::string& what, const std::string& name,
                     std::span<const std::string> names);

// All names of an enumeration, in the order of its enumerators.
template <class Enumeration>
std::vector<std::string> all_names() {
  const auto literals = names(Enumeration{});
  return {literals.begin(), literals.end()};
}

// The enumerator of this name. Fails, beginning with `what`, if there is none.
template <class Enumeration>
Enumeration named(const std::string& what, const std::string& name) {
  return static_cast<Enumeration>(index_of_name(what, name, all_names<Enumeration>()));
}

class ConfigVisitor {
 public:
  virtual ~ConfigVisitor() = default;

  virtual void operator()(const char* key, bool& value, const char* meaning) = 0;
  virtual void operator()(const char* key, int64_t& value, const char* meaning,
                          Range range = {}) = 0;
  virtual void operator()(const char* key, double& value, const char* meaning,
                          Range range = {}) = 0;
  virtual void operator()(const char* key, std::string& value, const char* meaning) = 0;
  virtual void operator()(const char* key, fs::path& value, const char* meaning) = 0;
  // A visitor accepts a single value where a list is expected, as a list of one.
  virtual void operator()(const char* key, std::vector<std::string>& value,
                          const char* meaning) = 0;
  virtual void operator()(const char* key, std::vector<int64_t>& value, const char* meaning) = 0;

  // An enumeration whose enumerators count from 0. names(Enumeration), declared beside it, returns
  // their names in this order.
  template <class Enumeration>
  void choice(const char* key, Enumeration& value, const char* meaning) {
    const auto all = all_names<Enumeration>();
    choose(key,
           {.index = static_cast<size_t>(value),
            .set = [&value](size_t index) { value = static_cast<Enumeration>(index); }},
           all, meaning);
  }

  // Keys that this table may have without meaning anything, such as keys that older versions wrote:
  // a reader accepts each of `others` where it has the value that it has there, and otherwise says
  // that it belongs to `owner`.
  virtual void pass_over_defaults(const std::string& /*owner*/,
                                  const std::function<void(ConfigVisitor&)>& /*others*/) {}

  // A nested table: [key].
  template <class Struct>
  void table(const char* key, Struct& value, const char* meaning) {
    group(key, meaning, [&] { fields(*this, value); });
  }

  // An array of tables: [[key]].
  template <class Struct>
  void tables(const char* key, std::vector<Struct>& values, const char* meaning) {
    groups(key, meaning,
           {.size = [&] { return values.size(); },
            .resize = [&](size_t n) { values.resize(n); },
            .visit = [&](size_t i) { fields(*this, values[i]); },
            .visit_default =
                [&] {
                  Struct prototype;
                  fields(*this, prototype);
                }});
  }

 protected:
  struct List {
    std::function<size_t()> size;
    std::function<void(size_t)> resize;
    std::function<void(size_t)> visit;
    std::function<void()> visit_default;
  };
  struct Enumerator {
    size_t index;
    std::function<void(size_t)> set;  // lives as long as the struct, not only during the visit
  };
  virtual void choose(const char* key, const Enumerator& value, std::span<const std::string> names,
                      const char* meaning) = 0;
  virtual void group(const char* key, const char* meaning, const std::function<void()>& body) = 0;
  virtual void groups(const char* key, const char* meaning, const List& list) = 0;
};

using ConfigFields = std::function<void(ConfigVisitor&)>;

// The templates below bind a struct and call these functions. `name` precedes each error message.
void read_toml(std::string_view text, const std::string& name, const ConfigFields& all_fields);
void read_layered_toml(const fs::path& file, const ConfigFields& all_fields);
void apply_settings(std::span<const std::string> settings, const ConfigFields& all_fields,
                    const std::string& name_prefix = "--set ");
std::string write_toml(const ConfigFields& all_fields, bool explain);
// What errors call a key: itself, or the command's flag for it.
using NameOfKey = std::function<std::string(const std::string& key)>;
void check_ranges(const ConfigFields& all_fields, const NameOfKey& name_of_key);

// Reads a TOML file into a struct. Members that the file does not mention keep their values.
// Unknown keys and wrong types are errors that name file and line.
template <class Struct>
void read_config(const fs::path& file, Struct& out) {
  read_toml(read_file(file), file.string(), [&](ConfigVisitor& visit) { fields(visit, out); });
}

// Reads a file that may extend others: `extends = "base.toml"`, or a list, relative to the file's
// directory. The extended files are read first, each overriding the one before, so a file states
// only what differs. A cycle is an error.
template <class Struct>
void read_layered_config(const fs::path& file, Struct& out) {
  read_layered_toml(file, [&](ConfigVisitor& visit) { fields(visit, out); });
}

// Applies settings such as "clean.min_words=3". Their order matters only where two set the same
// key: the last one counts. A value that is not valid TOML is taken as a string. Existing list
// elements are addressed by index: "corpora.0.file=...".
template <class Struct>
void apply_settings(std::span<const std::string> settings, Struct& out) {
  apply_settings(settings, ConfigFields([&](ConfigVisitor& visit) { fields(visit, out); }));
}

// Fails unless every number is in its range: for structs that a program filled.
template <class Struct>
void check_ranges(Struct value, const NameOfKey& name_of_key = std::identity()) {
  check_ranges(ConfigFields([&](ConfigVisitor& visit) { fields(visit, value); }), name_of_key);
}

// Returns every key with its value. read_config() of this text gives an equal struct.
template <class Struct>
std::string to_toml(Struct value) {
  return write_toml([&](ConfigVisitor& visit) { fields(visit, value); }, false);
}

// Returns the text of to_toml() with each key's meaning as a comment above the key.
template <class Struct>
std::string explain_config(Struct defaults = {}) {
  return write_toml([&](ConfigVisitor& visit) { fields(visit, defaults); }, true);
}

}  // namespace residual
