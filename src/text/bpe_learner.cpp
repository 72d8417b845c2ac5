// subword-nmt takes some short cuts for speed, and they show in its merges; all are kept here:
//
//  - Pairs below a threshold leave its statistics, and what happens to such a pair afterwards is
//    counted from nought. When no pair of the statistics reaches the threshold, they start again
//    from the archive, in which a later positive remainder has replaced the full count.
//  - The neighbours of a merged symbol are counted for each place where the symbol stands in the
//    word, also where another merge had made it before.
//  - A word is searched for a pair only if the pair's index for this word is positive, and a pair
//    that overlaps itself (x x x) leaves a negative index.
//  - Merging is a regular expression over the symbols joined by spaces, so that white space inside
//    a symbol passes for its edge.

#include "text/bpe_learner.h"

#include <algorithm>
#include <charconv>
#include <queue>

#include "base/error.h"
#include "text/pair_table.h"
#include "text/whitespace.h"

namespace residual::text {
namespace {

constexpr std::string_view kEndOfWord = "</w>";
constexpr double kMaxTotal = 0x1.0p53;  // up to here double holds every count exactly

class Learner {
 public:
  explicit Learner(const WordCounts& words);

  int64_t distinct_characters() const { return distinct_characters_; }
  std::vector<BpeMerge> learn(int64_t merges, int64_t min_frequency);

 private:
  struct Word {
    size_t begin;  // in text_
    uint32_t size;
    bool has_whitespace;
    int64_t count;
  };
  // One step of a pair's index for one word: its sum over the word's steps is what counts.
  struct Step {
    uint32_t word;
    int32_t change;
  };
  struct Pair {
    uint32_t left, right;
    int64_t statistic = 0;
    int64_t archived = 0;
    bool in_statistics = false;
    bool is_raised = false;  // since raised_ was last emptied
    std::vector<Step> steps;
  };
  struct Candidate {
    int64_t statistic;
    uint32_t pair;
  };

  void count_pairs();
  uint32_t pair_id(uint32_t left, uint32_t right);
  void change(uint32_t left, uint32_t right, uint32_t word, int sign);
  bool is_less(const Candidate& a, const Candidate& b) const;
  void offer(uint32_t pair);
  void prune();
  void restore(int64_t step);
  bool find_best(uint32_t& best);
  void merge(uint32_t id);
  void merge_in_word(uint32_t word, const Pair& pair, uint32_t merged);
  void replace(std::span<const uint32_t> old, const Pair& pair, uint32_t merged);
  void replace_in_joined_text(std::span<const uint32_t> old, const Pair& pair);

  StringTable symbols_;
  std::vector<uint32_t> text_;  // the symbols of all words; merging only shortens a word
  std::vector<Word> words_;
  std::vector<Pair> pairs_;
  PairTable pair_ids_;
  std::vector<uint32_t> statistics_;  // the pairs that are in them
  double threshold_ = 0;
  // A heap of upper bounds: a pair that fell since it was offered is offered again when met.
  std::vector<Candidate> heap_;
  std::vector<uint32_t> raised_;
  std::vector<int32_t> index_;  // by word, all zero between merges
  std::vector<uint32_t> old_, new_;
  int64_t distinct_characters_ = 0;
};

Learner::Learner(const WordCounts& words) {
  double total = 0;
  std::string symbol;
  for (uint32_t id = 0; id < words.size(); ++id) {
    const std::string_view word = words.word(id);
    Word entry{.begin = text_.size(),
               .size = 0,
               .has_whitespace = false,
               .count = static_cast<int64_t>(words.count(id))};
    for (size_t at = 0; at < word.size();) {
      const size_t start = at;
      entry.has_whitespace |= is_whitespace(next_code_point(word, at));
      symbol.assign(word.substr(start, at - start));
      if (at == word.size()) symbol += kEndOfWord;
      text_.push_back(symbols_.add(symbol));
      ++entry.size;
    }
    words_.push_back(entry);
    total += static_cast<double>(words.count(id)) * entry.size;
    require(total < kMaxTotal, "the words' counts add up to more than 2^53 characters");
  }
  distinct_characters_ = symbols_.size();
  index_.resize(words_.size());
  count_pairs();
}

uint32_t Learner::pair_id(uint32_t left, uint32_t right) {
  const uint32_t id = pair_ids_.add(left, right, static_cast<uint32_t>(pairs_.size()));
  if (id == pairs_.size()) pairs_.push_back({.left = left, .right = right});
  return id;
}

void Learner::count_pairs() {
  for (uint32_t w = 0; w < words_.size(); ++w) {
    const Word& word = words_[w];
    for (size_t i = word.begin + 1; i < word.begin + word.size; ++i) {
      change(text_[i - 1], text_[i], w, +1);
    }
  }
  int64_t highest = 0;
  for (Pair& pair : pairs_) {
    pair.archived = pair.statistic;
    pair.is_raised = false;
    highest = std::max(highest, pair.statistic);
  }
  raised_.clear();
  threshold_ = static_cast<double>(highest) / 10;
  for (uint32_t id = 0; id < pairs_.size(); ++id) offer(id);
}

// Counts the pair once more (or less) in a word.
void Learner::change(uint32_t left, uint32_t right, uint32_t word, int sign) {
  const uint32_t id = pair_id(left, right);
  Pair& pair = pairs_[id];
  if (!pair.in_statistics) {
    pair.in_statistics = true;
    pair.statistic = 0;
    statistics_.push_back(id);
  }
  pair.statistic += sign * words_[word].count;
  if (!pair.steps.empty() && pair.steps.back().word == word) {
    pair.steps.back().change += sign;
  } else {
    pair.steps.push_back({.word = word, .change = sign});
  }
  if (sign > 0 && !pair.is_raised) {
    pair.is_raised = true;
    raised_.push_back(id);
  }
}

// By frequency, then by the symbols' code points: UTF-8 keeps their order.
bool Learner::is_less(const Candidate& a, const Candidate& b) const {
  if (a.statistic != b.statistic) return a.statistic < b.statistic;
  if (a.pair == b.pair) return false;
  const Pair &p = pairs_[a.pair], &q = pairs_[b.pair];
  if (p.left != q.left) return symbols_[p.left] < symbols_[q.left];
  return symbols_[p.right] < symbols_[q.right];
}

void Learner::offer(uint32_t pair) {
  const int64_t statistic = pairs_[pair].statistic;
  if (static_cast<double>(statistic) < threshold_) return;
  heap_.push_back({.statistic = statistic, .pair = pair});
  std::push_heap(heap_.begin(), heap_.end(),
                 [this](const auto& a, const auto& b) { return is_less(a, b); });
}

// The best pair of the statistics, unless it is below the threshold.
bool Learner::find_best(uint32_t& best) {
  while (!heap_.empty()) {
    const Candidate top = heap_.front();
    const Pair& pair = pairs_[top.pair];
    if (pair.in_statistics && pair.statistic == top.statistic &&
        static_cast<double>(top.statistic) >= threshold_) {
      best = top.pair;
      return true;
    }
    std::pop_heap(heap_.begin(), heap_.end(),
                  [this](const auto& a, const auto& b) { return is_less(a, b); });
    heap_.pop_back();
    if (pair.in_statistics && pair.statistic < top.statistic) offer(top.pair);
  }
  return false;
}

void Learner::prune() {
  std::erase_if(statistics_, [this](uint32_t id) {
    Pair& pair = pairs_[id];
    if (static_cast<double>(pair.statistic) >= threshold_) return false;
    pair.in_statistics = false;
    pair.archived = pair.statistic < 0 ? pair.archived + pair.statistic : pair.statistic;
    return true;
  });
}

// Starts again from the archive, with a threshold that rises with the number of merges made.
void Learner::restore(int64_t step) {
  prune();
  statistics_.clear();
  int64_t highest = INT64_MIN;
  for (uint32_t id = 0; id < pairs_.size(); ++id) {
    Pair& pair = pairs_[id];
    pair.statistic = pair.archived;
    pair.in_statistics = true;
    statistics_.push_back(id);
    highest = std::max(highest, pair.statistic);
  }
  threshold_ = static_cast<double>(highest) * static_cast<double>(step) /
               (static_cast<double>(step) + 10000.0);
  prune();
  heap_.clear();
  for (const uint32_t id : statistics_) offer(id);
}

std::vector<BpeMerge> Learner::learn(int64_t merges, int64_t min_frequency) {
  std::vector<BpeMerge> learnt;
  if (pairs_.empty()) return learnt;
  for (int64_t step = 0; step < merges; ++step) {
    uint32_t best = 0;
    if (!find_best(best)) {
      restore(step);
      if (!find_best(best)) break;
    }
    if (pairs_[best].statistic < min_frequency) break;
    learnt.emplace_back(symbols_[pairs_[best].left], symbols_[pairs_[best].right]);
    merge(best);
    if (step % 100 == 0) prune();
  }
  return learnt;
}

void Learner::merge(uint32_t id) {
  const std::vector<Step> steps = std::exchange(pairs_[id].steps, {});
  const Pair pair{.left = pairs_[id].left, .right = pairs_[id].right};
  const uint32_t merged =
      symbols_.add(std::string(symbols_[pair.left]).append(symbols_[pair.right]));
  for (const Step& step : steps) index_[step.word] += step.change;
  for (const Step& step : steps) {
    const bool is_present = index_[step.word] > 0;
    index_[step.word] = 0;
    if (is_present) merge_in_word(step.word, pair, merged);
  }
  pairs_[id].statistic = 0;
  for (const uint32_t raised : raised_) {
    pairs_[raised].is_raised = false;
    offer(raised);
  }
  raised_.clear();
}

void Learner::merge_in_word(uint32_t w, const Pair& pair, uint32_t merged) {
  Word& word = words_[w];
  const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(word.begin);
  old_.assign(begin, begin + word.size);
  if (word.has_whitespace) {
    replace_in_joined_text(old_, pair);
  } else {
    replace(old_, pair, merged);
  }
  std::copy(new_.begin(), new_.end(), begin);
  word.size = static_cast<uint32_t>(new_.size());

  // Around each place of the pair (b c in a b c d) the pairs a b and c d are gone. In a b c b c
  // the one in the middle is left to the second place.
  const size_t n = old_.size();
  for (size_t i = 0; i + 1 < n;) {
    if (old_[i] != pair.left || old_[i + 1] != pair.right) {
      ++i;
      continue;
    }
    if (i > 0) change(old_[i - 1], old_[i], w, -1);
    const bool is_repeated = i + 3 < n && old_[i + 2] == pair.left && old_[i + 3] == pair.right;
    if (i + 2 < n && !is_repeated) change(old_[i + 1], old_[i + 2], w, -1);
    i += 2;
  }
  for (size_t i = 0; i < new_.size(); ++i) {
    if (new_[i] != merged) continue;
    if (i > 0) change(new_[i - 1], new_[i], w, +1);
    if (i + 1 < new_.size() && new_[i + 1] != merged) change(new_[i], new_[i + 1], w, +1);
  }
}

void Learner::replace(std::span<const uint32_t> old, const Pair& pair, uint32_t merged) {
  new_.clear();
  for (size_t i = 0; i < old.size(); ++i) {
    if (i + 1 < old.size() && old[i] == pair.left && old[i + 1] == pair.right) {
      new_.push_back(merged);
      ++i;
    } else {
      new_.push_back(old[i]);
    }
  }
}

void Learner::replace_in_joined_text(std::span<const uint32_t> old, const Pair& pair) {
  std::string joined;
  for (const uint32_t symbol : old) joined.append(symbols_[symbol]) += ' ';
  joined.pop_back();
  const std::string left(symbols_[pair.left]), right(symbols_[pair.right]);
  const std::string wanted = left + ' ' + right;
  const auto is_edge = [&](size_t begin, size_t end) {
    return (begin == 0 || whitespace_at(joined, previous_code_point(joined, begin)) > 0) &&
           (end == joined.size() || whitespace_at(joined, end) > 0);
  };
  std::string replaced;
  size_t done = 0;
  for (size_t at = joined.find(wanted); at != std::string::npos;) {
    const size_t end = at + wanted.size();
    if (!is_edge(at, end)) {
      at = joined.find(wanted, at + 1);
      continue;
    }
    replaced.append(joined, done, at - done).append(left).append(right);
    done = end;
    at = joined.find(wanted, end);
  }
  replaced.append(joined, done);
  new_.clear();
  for (size_t at = 0; at <= replaced.size();) {
    const size_t end = std::min(replaced.find(' ', at), replaced.size());
    new_.push_back(symbols_.add(std::string_view(replaced).substr(at, end - at)));
    at = end + 1;
  }
}

}  // namespace

std::vector<BpeMerge> learn_bpe(const WordCounts& words, const BpeLearnOptions& options) {
  Learner learner(words);
  const int64_t characters = options.total_symbols ? learner.distinct_characters() : 0;
  return learner.learn(options.merges - characters, options.min_frequency);
}

std::string format_codes(std::span<const BpeMerge> merges) {
  std::string out = "#version: 0.2\n";
  for (const auto& [left, right] : merges) out.append(left).append(" ").append(right) += '\n';
  return out;
}

void count_bpe_words(std::string_view line, WordCounts& counts) {
  size_t start = 0;
  const auto end_word = [&](size_t end) {
    if (end > start) counts.add(line.substr(start, end - start));
  };
  for (size_t at = 0; at < line.size();) {
    const size_t line_end = line_end_at(line, at);
    if (line[at] == ' ' || line[at] == '\r' || line[at] == '\n') {
      end_word(at);
      start = ++at;
    } else if (line_end > 0) {
      at += line_end;
      end_word(at);
      start = at;
    } else {
      ++at;
    }
  }
  end_word(line.size());
}

void for_each_word_count(const fs::path& file, Invalid invalid,
                         const std::function<void(std::string_view, uint64_t)>& body) {
  for_each_line(file, invalid, [&](std::string_view line, uint64_t number) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\r')) line.remove_prefix(1);
    const size_t space = line.find(' ');
    const char* const end = line.data() + line.size();
    uint64_t count = 0;
    const auto is_count = [&](const char* field) {
      const auto [stop, error] = std::from_chars(field, end, count);
      return error == std::errc() && stop == end;
    };
    require(space != std::string_view::npos && is_count(line.data() + space + 1),
            "{}:{}: expected a word, a space and a count, got \"{}\"",
            file == "-" ? "standard input" : file.string(), number, line.substr(0, 80));
    body(line.substr(0, space), count);
  });
}

}  // namespace residual::text
