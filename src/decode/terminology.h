#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/files.h"

namespace residual::decode {

// What an expression of the source is called in a translation.
struct Term {
  std::string source, target;
};

void fields(ConfigVisitor& visit, Term& term);

// Terminology. An expression is looked for in whole words; one without capital letters also where
// the text has some. Where several match, the longest does.
class Terminology {
 public:
  static constexpr size_t kLongest = 200;  // expression, in characters

  Terminology() = default;
  // An Error if a side of one is empty, its source too long, or another says otherwise.
  explicit Terminology(std::vector<Term> terms);
  // Lines "source<tab>target"; an Error names the line.
  static Terminology read(const fs::path& file);

  // How a text's translation calls the expressions that the text has, in their order, each once.
  std::vector<std::string> in(std::string_view text) const;
  const std::vector<Term>& terms() const { return terms_; }

 private:
  // A place in the tree of lower-cased sources, and the terms (by number) that end there.
  struct Node {
    std::map<char32_t, int32_t> next;  // nodes
    std::map<std::u32string, int32_t> exact;
    int32_t in_any_case = kNone;
  };
  using Place = std::function<std::string(size_t number)>;  // where a term stands, for errors
  Terminology(std::vector<Term> terms, const Place& place);

  static constexpr int32_t kNone = -1;
  struct Match {
    int32_t term = kNone;
    size_t end = 0;
  };
  Match longest(const std::u32string& text, const std::u32string& lower, size_t begin) const;

  std::vector<Term> terms_;
  std::vector<Node> nodes_;  // the first is the root
};

}  // namespace residual::decode
