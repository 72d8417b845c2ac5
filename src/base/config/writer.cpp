#include <cmath>
#include <utility>

#include "base/config.h"
#include "base/config/toml_text.h"

namespace residual {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

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

}  // namespace

std::string write_toml(const ConfigFields& all_fields, bool explain) {
  Writer writer(explain);
  all_fields(writer);
  return writer.text();
}

}  // namespace residual
