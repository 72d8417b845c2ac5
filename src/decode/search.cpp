#include "decode/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/random.h"
#include "decode/search_sentence.h"
#include "text/vocabulary.h"

namespace residual::decode {
namespace {

// Rows whose logits are made together, each time with all of the vocabulary's weights.
constexpr size_t kLogitRows = 96, kSummaryRows = 192;
constexpr int32_t kEos = text::Vocabulary::kEos;

uint64_t key_of(const std::vector<int32_t>& tokens) {
  return checksum({reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(int32_t)});
}

template <class T>
void grow(std::vector<T>& buffer, int64_t size) {
  if (static_cast<int64_t>(buffer.size()) < size) buffer.resize(static_cast<size_t>(size));
}

}  // namespace

Search::Search(const std::vector<std::shared_ptr<const Weights>>& models,
               const SearchOptions& options)
    : options_(std::make_shared<const SearchOptions>(options)),
      models_(models),
      start_(model::start_symbol(models[0]->config())),
      never_predicts_unk_(models[0]->config().never_predicts_unk()),
      chooser_(models_.vocabulary(), options.unk_penalty) {
  check(options);
  require(options.attention_layer < models_.decoder_layers(),
          "attention is wanted of layer {} from the top, the decoder has {}",
          options.attention_layer, models_.decoder_layers());
}

bool Search::can_summarise(const SearchOptions& o) const {
  static_assert(2 * kWidestBeam + Chooser::kSpare <= Engine::kMostBest);
  return models_.engines().size() == 1 && !o.sampling.is_on && o.no_repeat_ngram == 0 &&
         o.repetition_penalty == 1 && o.unk_penalty >= 0;
}

Search::~Search() = default;

int64_t Search::sentences() const { return static_cast<int64_t>(sentences_.size()); }

int64_t Search::source_tokens() const {
  int64_t tokens = 0;
  for (const auto& s : sentences_) tokens += static_cast<int64_t>(s.request.source.size());
  return tokens;
}

int64_t Search::beams() const {
  int64_t beams = 0;
  for (const auto& s : sentences_) beams += s.options().beam;
  return beams;
}

void Search::add(std::vector<Request> requests, Team* team) {
  std::vector<std::span<const int32_t>> sources;
  for (const auto& request : requests) {
    for (const auto& engine : models_.engines()) check_request(request, engine.weights().config());
    sources.emplace_back(request.source);
  }
  auto memories = models_.encode(sources, team);
  grow(paths_, (rows_ + static_cast<int64_t>(requests.size())) * path_stride_);
  for (size_t i = 0; i < requests.size(); ++i) {
    Sentence& s = sentences_.emplace_back();
    s.request = std::move(requests[i]);
    if (!s.request.search) s.request.search = options_;
    if (s.options().sampling.is_on) s.request.phrases = nullptr;
    s.is_summarised = !s.request.phrases && can_summarise(s.options());
    if (s.is_summarised && !s.request.symbols.empty()) {
      const Weights& weights = models_.engines()[0].weights();
      s.output = std::make_shared<PackedMatrix>(weights.output_of(s.request.symbols));
    }
    s.memories = std::move(memories[i]);
    s.max_length = longest_translation(s);
    s.ended.assign(s.groups(), 0);
    const int32_t root = tree_.add(HypothesisTree::kNone, start_, 0);
    s.live.reserve(s.options().beam);
    s.live.push_back({root, 0});
    paths_[rows_++ * path_stride_] = root;
  }
}

int64_t Search::longest_translation(const Sentence& s) const {
  const double wanted =
      s.options().max_length_factor * static_cast<double>(s.request.source.size()) +
      s.options().max_length_offset;
  const auto possible = static_cast<double>(models_.max_positions() - 1);
  const int64_t phrases = s.request.phrases ? s.request.phrases->tokens() : 0;
  return std::max(static_cast<int64_t>(std::min(wanted, possible)),
                  static_cast<int64_t>(s.request.prefix.size()) + phrases);
}

void Search::step(const Done& done, Team* team) {
  if (sentences_.empty()) return;
  decode_rows(team);
  next_rows_ = 0;
  advance_all(team);
  std::swap(paths_, next_paths_);
  path_stride_ = next_path_stride_;
  rows_ = next_rows_;

  size_t kept = 0;
  for (auto& sentence : sentences_) {
    if (sentence.live.empty()) {
      done(sentence.request.id, take_best(sentence));
    } else {
      std::swap(sentences_[kept++], sentence);
    }
  }
  sentences_.resize(kept);
  if (sentences_.empty()) begin_anew();
}

// The next sentences take the first slots again, and need no more memory than they would have.
void Search::begin_anew() {
  constexpr size_t kOrdinary = 4 << 20;  // numbers
  tree_.clear();
  size_t kept = 0;
  for (const auto& attention : node_attention_) kept += attention.capacity();
  if (kept > kOrdinary) node_attention_ = std::vector<std::vector<float>>();
  models_.release_large();
}

void Search::decode_rows(Team* team) {
  tokens_.clear();
  positions_.clear();
  groups_.clear();
  int64_t longest = 0;
  for (auto& s : sentences_) {
    s.first_row = static_cast<int>(tokens_.size());
    for (const auto& live : s.live) {
      tokens_.push_back(tree_[live.node].token);
      positions_.push_back(static_cast<int32_t>(s.length + 1));
    }
    groups_.push_back({&s.memories, static_cast<int>(s.live.size())});
    longest = std::max(longest, s.length + 2);
  }
  const Step step = {.tokens = tokens_,
                     .positions = positions_,
                     .slots = paths_.data(),
                     .slot_stride = path_stride_,
                     .slot_count = tree_.size()};
  const bool with_attention = std::ranges::any_of(
      sentences_, [](const Sentence& s) { return s.options().needs_attention(); });
  const int layer = with_attention ? static_cast<int>(options_->attention_layer) : -1;
  models_.decode(step, groups_, layer, team);
  while (next_path_stride_ < longest) next_path_stride_ *= 2;
  grow(next_paths_, beams() * next_path_stride_);
}

// Some sentences at a time: logits of all rows would take the most memory.
void Search::advance_all(Team* team) {
  for (size_t first = 0, end = 0; first < sentences_.size(); first = end) {
    if (sentences_[first].output) {
      summarise_some(sentences_[first], team);
      advance(sentences_[end++]);
      continue;
    }
    const bool is_summarised = sentences_[first].is_summarised;
    const size_t most = is_summarised ? kSummaryRows : kLogitRows;
    size_t rows = 0;
    do {
      rows += sentences_[end++].live.size();
    } while (end < sentences_.size() && !sentences_[end].output &&
             sentences_[end].is_summarised == is_summarised &&
             rows + sentences_[end].live.size() <= most);
    const auto some = std::span(sentences_).subspan(first, end - first);
    if (is_summarised) {
      summarise(some, team);
    } else {
      models_.project(
          some[0].first_row, static_cast<int64_t>(rows),
          [&](float* logits) { discourage_repetition(some, logits); }, team);
    }
    for (size_t i = first; i < end; ++i) advance(sentences_[i]);
  }
}

// Rows that ask for what the sentences need to know.
void Search::prepare_summaries(std::span<const Sentence> sentences) {
  const auto best_of = [](const Sentence& s) { return 2 * s.options().beam + Chooser::kSpare; };
  int64_t room = 0;
  for (const auto& s : sentences) room += static_cast<int64_t>(s.live.size()) * best_of(s);
  grow(best_, room);
  first_summary_ = sentences[0].first_row;
  summaries_.clear();
  kernels::Scored* best = best_.data();
  for (const auto& s : sentences) {
    const int64_t k = best_of(s);
    const bool is_forced = s.length < static_cast<int64_t>(s.request.prefix.size());
    const int32_t token = is_forced ? s.request.prefix[s.length] : kEos;
    for (size_t h = 0; h < s.live.size(); ++h, best += k) {
      summaries_.push_back({.k = static_cast<int>(k), .best = best, .asked = {.index = token}});
    }
  }
}

void Search::summarise(std::span<const Sentence> sentences, Team* team) {
  prepare_summaries(sentences);
  models_.summarise(first_summary_, summaries_, team);
}

// The same with places among the sentence's symbols in place of their ids.
void Search::summarise_some(const Sentence& s, Team* team) {
  prepare_summaries({&s, 1});
  const auto& symbols = s.request.symbols;
  for (auto& row : summaries_) {
    const auto at = std::ranges::lower_bound(symbols, row.asked.index);
    row.asked.index = static_cast<int32_t>(at - symbols.begin());
  }
  models_.summarise(*s.output, first_summary_, summaries_, team);
  for (auto& row : summaries_) {
    row.asked.index = symbols[row.asked.index];
    for (auto& best : std::span(row.best, row.found)) best.index = symbols[best.index];
  }
}

// The token is that of the row's summary.
Choice Search::given(const Sentence& s, int h, int32_t token) {
  const int64_t row = s.first_row + h;
  return s.is_summarised ? chooser_.given(summaries_[row - first_summary_])
                         : chooser_.given(models_.logits(row), token);
}

void Search::advance(Sentence& s) {
  candidates_.clear();
  chooser_.set_unk_penalty(s.options().unk_penalty);
  if (s.request.is_unwanted()) {
    s.finished.clear();
  } else if (s.length < static_cast<int64_t>(s.request.prefix.size())) {
    follow_prefix(s);
  } else if (s.length >= s.max_length) {
    end_all(s);
  } else if (s.options().sampling.is_on) {
    sample(s);
  } else {
    search(s);
  }
  select(s);
}

// In the logits of these sentences' rows: of what a hypothesis has said, once, however often.
void Search::discourage_repetition(std::span<const Sentence> sentences, float* logits) {
  for (const auto& s : sentences) {
    const auto penalty = static_cast<float>(s.options().repetition_penalty);
    for (size_t h = 0; h < s.live.size(); ++h, logits += models_.vocabulary()) {
      if (penalty == 1) continue;
      const int32_t* const path = paths_.data() + (s.first_row + h) * path_stride_ + 1;
      said_.clear();
      for (int64_t i = 0; i < s.length; ++i) said_.push_back(tree_[path[i]].token);
      std::ranges::sort(said_);
      said_.erase(std::unique(said_.begin(), said_.end()), said_.end());
      for (const int32_t token : said_) {
        logits[token] = logits[token] > 0 ? logits[token] / penalty : logits[token] * penalty;
      }
    }
  }
}

void Search::follow_prefix(Sentence& s) {
  const Choice choice = given(s, 0, s.request.prefix[s.length]);
  candidates_.push_back({choice.log_probability, 0, 0, 0, choice});
}

void Search::end_all(Sentence& s) {
  for (int h = 0; h < static_cast<int>(s.live.size()); ++h) {
    const Choice choice = given(s, h, kEos);
    const double score = tree_[s.live[h].node].score + choice.log_probability;
    candidates_.push_back({score, h, 0, s.live[h].draw, choice});
  }
  std::ranges::stable_sort(candidates_, std::greater<>(), &Candidate::score);
  if (!s.request.phrases) return;
  // Those with all phrases, or else with the most of them.
  const auto tokens = [&](const Candidate& c) {
    return s.request.phrases->tokens(s.live[c.hypothesis].phrases);
  };
  const int64_t most = tokens(std::ranges::max(candidates_, {}, tokens));
  const bool is_enough = s.finished.empty() || most == s.request.phrases->tokens();
  std::erase_if(candidates_, [&](const auto& c) { return !is_enough || tokens(c) < most; });
}

void Search::sample(Sentence& s) {
  const Random random(static_cast<uint64_t>(s.options().sampling.seed), key_of(s.request.source));
  const auto draw = [&](int h, int32_t number) {
    const auto position = static_cast<uint64_t>(s.length * s.options().beam + number);
    // The first hypothesis stands for all draws, and drawing overwrites: a copy each.
    const float* row = models_.logits(s.first_row + h);
    drawn_.assign(row, row + models_.vocabulary());
    const Choice choice = chooser_.draw(drawn_.data(), s.options().sampling, forbidden(s, h),
                                        random.uniform(position));
    candidates_.push_back(
        {tree_[s.live[h].node].score + choice.log_probability, h, 0, number, choice});
  };
  for (int h = 0; s.is_split && h < static_cast<int>(s.live.size()); ++h) draw(h, s.live[h].draw);
  for (int32_t number = 0; !s.is_split && number < s.options().beam; ++number) draw(0, number);
  s.is_split = true;
}

void Search::search(Sentence& s) {
  if (s.options().alternatives && !s.is_split && !s.request.phrases) {
    begin_alternatives(s);
  } else {
    taken_.clear();
    for (int32_t group = 0; group < s.groups(); ++group) search_group(s, group);
  }
  s.is_split = true;
  if (candidates_.empty()) return end_all(s);  // all tokens are forbidden: </s> is what is left
  if (s.request.phrases) order_by_phrases(s);
}

std::span<const Choice> Search::likeliest(const Sentence& s, int h) {
  // Enough for a group, whatever others have taken.
  const int64_t most = 2 * s.options().beam;
  const int64_t row = s.first_row + h;
  return s.is_summarised
             ? chooser_.likeliest(summaries_[row - first_summary_], most, forbidden(s, h))
             : chooser_.likeliest(models_.logits(row), most, forbidden(s, h), wanted_);
}

// Each of the likeliest tokens becomes a group of its own.
void Search::begin_alternatives(Sentence& s) {
  wanted_.clear();
  for (const Choice& choice : likeliest(s, 0)) {
    const auto group = static_cast<int32_t>(candidates_.size());
    if (group == s.groups()) break;
    candidates_.push_back({.score = tree_[s.live[0].node].score + choice.log_probability,
                           .hypothesis = 0,
                           .rank = 0,
                           .draw = group,
                           .choice = choice});
  }
}

// Candidates of a group, behind those of the groups before, with which it shares the first
// hypothesis.
void Search::search_group(Sentence& s, int32_t group) {
  const auto first = static_cast<std::ptrdiff_t>(candidates_.size());
  const double strength = s.options().alternatives ? 0 : s.options().diverse_strength;
  for (int h = 0; h < static_cast<int>(s.live.size()); ++h) {
    if (s.is_split && s.live[h].draw != group) continue;
    const double sum = tree_[s.live[h].node].score;
    wanted_.clear();
    if (s.request.phrases) s.request.phrases->append_next(s.live[h].phrases, wanted_);
    int rank = 0;
    for (const Choice& choice : likeliest(s, h)) {
      const auto times = static_cast<double>(std::ranges::count(taken_, choice.token));
      candidates_.push_back({.score = sum + choice.log_probability,
                             .hypothesis = h,
                             .rank = rank++,
                             .draw = group,
                             .choice = choice,
                             .likeness = strength * times});
    }
  }
  const auto better = [](const Candidate& a, const Candidate& b) {
    const double of_a = a.score - a.likeness, of_b = b.score - b.likeness;
    if (of_a != of_b) return of_a > of_b;
    return a.hypothesis != b.hypothesis ? a.hypothesis < b.hypothesis : a.rank < b.rank;
  };
  const auto begin = candidates_.begin() + first;
  if (s.request.phrases) return std::sort(begin, candidates_.end(), better);
  const auto kept = std::min<std::ptrdiff_t>(2 * s.group_size(), candidates_.end() - begin);
  std::partial_sort(begin, begin + kept, candidates_.end(), better);
  candidates_.resize(first + kept);
  const auto groups = static_cast<int>(s.groups());
  int64_t ended = s.ended[group], chosen = 0;
  for (std::ptrdiff_t place = 0; place < kept; ++place) {
    Candidate& c = candidates_[first + place];
    c.rank = static_cast<int>(place) * groups;
    ended += c.choice.token == kEos && place < s.group_size() ? 1 : 0;
  }
  if (ended >= s.group_size()) return;  // none of its hypotheses goes on
  for (std::ptrdiff_t place = 0; place < kept && chosen < s.group_size(); ++place) {
    const int32_t token = candidates_[first + place].choice.token;
    if (token != kEos) taken_.push_back(token), ++chosen;
  }
}

// Candidates have rivals only among those with as many of the phrases' tokens. The best of each
// kind come first, the most tokens before fewer; then all the second best, and so on. REQUIRES:
// candidates_ are in the order of their scores.
void Search::order_by_phrases(const Sentence& s) {
  const Phrases& phrases = *s.request.phrases;
  std::vector<int> seen(phrases.tokens() + 1);
  for (auto& c : candidates_) {
    c.phrase_tokens = phrases.tokens(phrases.after(s.live[c.hypothesis].phrases, c.choice.token));
    c.rank = seen[c.phrase_tokens]++;
  }
  std::ranges::sort(candidates_, {},
                    [](const Candidate& c) { return std::pair(c.rank, -c.phrase_tokens); });
}

std::span<const int32_t> Search::forbidden(const Sentence& s, int h) {
  forbidden_.assign({text::Vocabulary::kPad});
  if (s.length < s.options().min_length || !s.has_phrases(s.live[h])) forbidden_.push_back(kEos);
  if (s.options().forbid_unk || never_predicts_unk_) forbidden_.push_back(text::Vocabulary::kUnk);
  // Tokens that would complete n tokens in a row which have been there before.
  const int64_t n = s.options().no_repeat_ngram;
  const int32_t* path = paths_.data() + (s.first_row + h) * path_stride_ + 1;  // after the root
  for (int64_t end = n - 1; n > 0 && end < s.length; ++end) {
    const auto same = [&](int64_t back) {
      return tree_[path[end - back]].token == tree_[path[s.length - back]].token;
    };
    bool is_repeat = true;
    for (int64_t back = 1; back < n && is_repeat; ++back) is_repeat = same(back);
    if (is_repeat) forbidden_.push_back(tree_[path[end]].token);
  }
  return forbidden_;
}

// fairseq's rule: candidates that end are finished if they are among the best `beam` of all; of
// the others, the best `beam` live on.
void Search::select(Sentence& s) {
  for (const auto& candidate : candidates_) {
    if (candidate.choice.token == kEos && candidate.rank < s.options().beam) {
      finish(s, candidate);
    }
  }
  room_.assign(s.groups(), has_ended(s) ? 0 : s.group_size());
  for (int64_t group = 0; s.groups() > 1 && group < s.groups(); ++group) {
    if (s.is_full(group)) room_[group] = 0;
  }
  std::swap(parents_, s.live);
  s.live.clear();
  for (const auto& candidate : candidates_) {
    int64_t& room = room_[s.group_of(candidate.draw)];
    if (candidate.choice.token == kEos || room == 0) continue;
    extend(s, candidate);
    --room;
  }
  for (const auto& parent : parents_) tree_.release(parent.node);
  ++s.length;
}

void Search::extend(Sentence& s, const Candidate& c) {
  const int32_t node =
      tree_.add(parents_[c.hypothesis].node, c.choice.token, c.choice.log_probability);
  s.live.push_back({node, c.draw});
  if (s.request.phrases) {
    s.live.back().phrases =
        s.request.phrases->after(parents_[c.hypothesis].phrases, c.choice.token);
  }
  const int32_t* path = paths_.data() + (s.first_row + c.hypothesis) * path_stride_;
  int32_t* next = next_paths_.data() + next_rows_++ * next_path_stride_;
  std::copy_n(path, s.length + 1, next);
  next[s.length + 1] = node;
  if (!s.options().needs_attention()) return;
  grow(node_attention_, tree_.size());
  const float* attention = models_.attention(s.first_row + c.hypothesis);
  node_attention_[node].assign(attention, attention + s.request.source.size());
}

void Search::finish(Sentence& s, const Candidate& c) {
  Hypothesis h;
  h.score = normalised(s.options(), c.score, s.length + 1);
  const int64_t group = s.group_of(c.draw);
  const bool is_full = s.is_full(group);
  const auto comes_too_late = [&] {
    return is_full && (s.options().stop != Stop::bound || h.score <= worst(s).score);
  };
  if (comes_too_late()) return;
  h.tokens.assign(s.length + 1, kEos);
  h.log_probabilities.assign(s.length + 1, c.choice.log_probability);
  if (s.options().needs_attention()) {
    const float* attention = models_.attention(s.first_row + c.hypothesis);
    h.attention.resize(s.length + 1);
    h.attention[s.length].assign(attention, attention + s.request.source.size());
  }
  int32_t node = s.live[c.hypothesis].node;
  for (int64_t i = s.length - 1; i >= 0; --i, node = tree_[node].parent) {
    h.tokens[i] = tree_[node].token;
    h.log_probabilities[i] = tree_[node].log_probability;
    if (s.options().needs_attention()) h.attention[i] = node_attention_[node];
  }
  h.coverage = coverage_term(s.options(), h.attention);
  h.score += h.coverage;
  if (comes_too_late()) return;
  if (!s.options().gives_attention()) h.attention.clear();
  if (is_full) {
    worst(s) = std::move(h);
  } else {
    s.finished.push_back(std::move(h));
    ++s.ended[group];
  }
}

Hypothesis& Search::worst(Sentence& s) {
  return *std::ranges::min_element(s.finished, {}, &Hypothesis::score);
}

bool Search::has_ended(const Sentence& s) const {
  const auto finished = static_cast<int64_t>(s.finished.size());
  if (s.length >= s.max_length) return true;
  if (s.options().sampling.is_on || s.options().stop == Stop::full)
    return finished == s.options().beam;
  if (finished < s.options().n_best) return false;
  if (s.options().stop == Stop::first) return true;
  std::vector<double> scores;
  for (const auto& hypothesis : s.finished) scores.push_back(hypothesis.score);
  std::ranges::nth_element(scores, scores.begin() + s.options().n_best - 1, std::greater<>());
  return scores[s.options().n_best - 1] >= best_possible(s);
}

// No descendant of a candidate that lives on can score more than this: its log-probability can
// only fall, but for rewards of <unk>, and its length is anything between the present and the
// longest.
double Search::best_possible(const Sentence& s) const {
  double best = -std::numeric_limits<double>::infinity();
  for (const auto& candidate : candidates_) {
    if (candidate.choice.token != kEos) best = std::max(best, candidate.score);
  }
  if (std::isinf(best)) return best;
  const auto shortest = static_cast<double>(s.length + 2);
  const auto longest = static_cast<double>(s.max_length + 1);
  const auto bound = [&](double term, double power) {
    return std::max(term * std::pow(shortest, power), term * std::pow(longest, power));
  };
  const double rewards = std::max(0.0, -s.options().unk_penalty) * (longest - shortest + 1);
  return bound(best + rewards, -s.options().length_penalty) +
         bound(-s.options().word_penalty, 1 - s.options().length_penalty);
}

std::vector<Hypothesis> Search::take_best(Sentence& s) {
  std::ranges::stable_sort(s.finished, std::greater<>(), &Hypothesis::score);
  if (s.options().alternatives && !s.request.phrases) {  // the best of each
    std::set<int32_t> begun;
    std::erase_if(s.finished, [&](const Hypothesis& h) {
      return !begun.insert(h.tokens[s.request.prefix.size()]).second;
    });
  }
  if (static_cast<int64_t>(s.finished.size()) > s.options().n_best) {
    s.finished.resize(s.options().n_best);
  }
  return std::move(s.finished);
}

std::vector<std::vector<Hypothesis>> search_all(Search& search, std::vector<Request> requests,
                                                Team* team) {
  std::vector<std::vector<Hypothesis>> results(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) requests[i].id = i;
  search.add(std::move(requests), team);
  while (search.sentences() > 0) {
    search.step([&](uint64_t id, std::vector<Hypothesis> h) { results[id] = std::move(h); }, team);
  }
  return results;
}

}  // namespace residual::decode
