#include "cli/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/command.h"

namespace residual::cli {
namespace {

// "hypotheses kept per sentence; 1: greedy; from 1 to 62"
std::string meaning_with(const char* meaning, Range range) {
  constexpr double kWorthSaying = 1000;
  if (!std::isfinite(range.min) || !(range.max <= kWorthSaying)) return meaning;
  return fmt::format("{}; {} {} to {}", meaning, range.above_min ? "above" : "from", range.min,
                     range.max);
}

// The names follow, unless the meaning explains them.
std::string meaning_with(const std::string& meaning, const std::vector<std::string>& names) {
  const bool is_explained = meaning.find(names.front()) != std::string::npos;
  return is_explained ? meaning : fmt::format("{}: {}", meaning, fmt::join(names, ", "));
}

class FlagAdder : public ConfigVisitor {
 public:
  FlagAdder(CLI::App& command, const FlagRules& rules, const std::vector<std::string>& groups)
      : command_(command), rules_(rules), groups_(groups) {}

  Flags take() { return std::move(added_); }

  void operator()(const char* key, bool& value, const char* meaning) override {
    if (!is_wanted(key)) return;
    keep(key, command_.add_flag(rules_.flag_of(path_ + key), value, meaning));
  }
  void operator()(const char* key, int64_t& value, const char* meaning, Range range) override {
    add(key, value, meaning_with(meaning, range), "N",
        [&](CLI::Option* option) { option->check(in_range(range, true))->capture_default_str(); });
  }
  void operator()(const char* key, double& value, const char* meaning, Range range) override {
    add(key, value, meaning_with(meaning, range), "X",
        [&](CLI::Option* option) { option->check(in_range(range, false))->capture_default_str(); });
  }
  void operator()(const char* key, std::string& value, const char* meaning) override {
    add(key, value, meaning, "TEXT", [](CLI::Option* option) { option->capture_default_str(); });
  }
  void operator()(const char* key, fs::path& value, const char* meaning) override {
    add(key, value, meaning, "FILE", [](CLI::Option*) {});
  }
  void operator()(const char* key, std::vector<std::string>& value, const char* meaning) override {
    add(key, value, meaning, "TEXT", [](CLI::Option*) {});
  }
  void operator()(const char* key, std::vector<int64_t>& value, const char* meaning) override {
    add(key, value, meaning, "N", [](CLI::Option*) {});
  }

 protected:
  void choose(const char* key, const Enumerator& value, std::span<const std::string> names,
              const char* meaning) override {
    if (!is_wanted(key)) return;
    const std::vector<std::string> all(names.begin(), names.end());
    const auto set = [all, give = value.set](const std::string& name) {
      give(static_cast<size_t>(std::ranges::find(all, name) - all.begin()));
    };
    keep(key, command_
                  .add_option_function<std::string>(rules_.flag_of(path_ + key), set,
                                                    meaning_with(meaning, all))
                  ->check(CLI::IsMember(all))
                  ->default_str(all[value.index])
                  ->type_name(rules_.type_of(path_ + key, "NAME")));
  }
  void group(const char* key, const char*, const std::function<void()>& body) override {
    const std::string outer = std::exchange(path_, path_ + key + ".");
    body();
    path_ = outer;
  }
  void groups(const char*, const char*, const List&) override {}  // lists of tables have no flags

 private:
  bool is_wanted(const char* key) const {
    return std::ranges::count(groups_, rules_.group_of(path_ + key)) > 0;
  }
  template <class Value, class More>
  void add(const char* key, Value& value, const std::string& meaning, const char* type,
           const More& more) {
    if (!is_wanted(key)) return;
    CLI::Option* const option = command_.add_option(rules_.flag_of(path_ + key), value, meaning);
    option->type_name(rules_.type_of(path_ + key, type));
    more(option);
    keep(key, option);
  }
  void keep(const char* key, CLI::Option* option) {
    added_[path_ + key] = option->group(rules_.group_of(path_ + key));
  }

  CLI::App& command_;
  const FlagRules& rules_;
  const std::vector<std::string>& groups_;
  std::string path_;  // of the table around, with a point at its end
  Flags added_;
};

// The first rule whose `member` is not empty: of the key itself, or of its table.
std::string found(const FlagRules& rules, const std::string& key, std::string FlagRule::*member) {
  for (const FlagRule& rule : rules.exceptions) {
    const bool fits = rule.key.ends_with('.') ? key.starts_with(rule.key) : key == rule.key;
    if (fits && !(rule.*member).empty()) return rule.*member;
  }
  return "";
}

}  // namespace

std::string FlagRules::flag_of(const std::string& key) const {
  const std::string given = found(*this, key, &FlagRule::flag);
  if (!given.empty()) return given;
  std::string flag = "--" + key.substr(key.rfind('.') + 1);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

std::string FlagRules::group_of(const std::string& key) const {
  const std::string given = found(*this, key, &FlagRule::group);
  return given.empty() ? group : given;
}

std::string FlagRules::type_of(const std::string& key, const char* usual) const {
  const std::string given = found(*this, key, &FlagRule::type);
  return given.empty() ? usual : given;
}

Flags add_flags(CLI::App& command, const ConfigFields& all_fields, const FlagRules& rules,
                const std::vector<std::string>& groups) {
  FlagAdder adder(command, rules, groups);
  all_fields(adder);
  return adder.take();
}

}  // namespace residual::cli
