#include <cmath>
#include <utility>

#include "base/config.h"
#include "base/config/toml_text.h"
#include "base/error.h"

namespace residual {
namespace {

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

}  // namespace residual
