#pragma once

#include <unicode/regex.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace residual::text {

// Words, or regular expressions, that BPE leaves whole, with subword-nmt's rules. The expressions
// are ICU's; the common ground with Python's is all but corner cases (\w takes in combining marks).
class Glossary {
 public:
  explicit Glossary(std::span<const std::string> entries);  // a bad expression is an Error

  bool empty() const { return entries_.empty(); }
  // Calls for one thread's use.
  class Matcher {
   public:
    explicit Matcher(const Glossary& glossary);
    bool contains(std::string_view segment);                  // some entry is the whole segment
    std::vector<std::string> isolate(std::string_view word);  // its entries and what is between

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
