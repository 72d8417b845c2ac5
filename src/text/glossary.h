#pragma once

#include <unicode/regex.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace residual::text {

// Words or regular expressions that BPE does not split, by subword-nmt's rules. The expressions use
// ICU's syntax, which agrees with Python's except in corner cases (\w includes combining marks).
class Glossary {
 public:
  explicit Glossary(std::span<const std::string> entries);  // throws for a bad expression

  bool empty() const { return entries_.empty(); }
  // The matching functions, for one thread.
  class Matcher {
   public:
    explicit Matcher(const Glossary& glossary);
    bool contains(std::string_view segment);  // whether an entry matches the whole segment
    std::vector<std::string> isolate(std::string_view word);  // splits the word at its entries

   private:
    std::unique_ptr<icu::RegexMatcher> whole_;
    std::vector<std::unique_ptr<icu::RegexMatcher>> only_, inside_;
  };

 private:
  struct Entry {
    std::shared_ptr<const icu::RegexPattern> only, inside;
  };
  std::shared_ptr<const icu::RegexPattern> whole_;
  std::vector<Entry> entries_;
};

}  // namespace residual::text
