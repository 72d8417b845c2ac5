#include "decode/search.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "decode/rules/alternatives.h"
#include "decode/rules/beam.h"
#include "decode/rules/diverse.h"
#include "decode/rules/phrase_search.h"
#include "decode/rules/prefix.h"
#include "text/vocabulary.h"

namespace residual::decode {
namespace {

constexpr int32_t kEos = text::Vocabulary::kEos;

template <class T>
void grow(std::vector<T>& buffer, int64_t size) {
  if (static_cast<int64_t>(buffer.size()) < size) buffer.resize(static_cast<size_t>(size));
}

}  // namespace

Search::Search(const std::vector<std::shared_ptr<const Weights>>& models,
               const SearchOptions& options)
    : options_(std::make_shared<const SearchOptions>(options)),
      models_(models),
      outlook_(models_, tree_),
      sampler_(models_.vocabulary()) {
  check(options);
  require(options.attention_layer < models_.decoder_layers(),
          "alignment layer {}: must be below the number of decoder layers, which is {}",
          options.attention_layer, models_.decoder_layers());
}

void Search::add(std::vector<Request> requests, Team* team) {
  std::vector<std::span<const int32_t>> sources;
  for (const auto& request : requests) {
    for (const auto& engine : models_.engines()) check_request(request, engine.weights().config());
    sources.emplace_back(request.source);
  }
  auto memories = models_.encode(sources, team);
  int64_t longest = 0;
  for (const auto& r : requests) longest = std::max(longest, r.is_text() ? r.read_tokens() : 0);
  widen_paths(longest + 1);
  grow(paths_, (rows_ + static_cast<int64_t>(requests.size())) * path_stride_);
  const Weights& weights = models_.engines()[0].weights();
  const bool never_unk = weights.config().never_predicts_unk();
  for (size_t i = 0; i < requests.size(); ++i) {
    Sentence& s = sentences_.emplace_back();
    s.request = std::move(requests[i]);
    if (!s.request.search) s.request.search = options_;
    if (s.options().sampling.is_on) s.request.phrases = nullptr;
    s.restrictions = Restrictions(s.options(), never_unk, s.request.phrases.get(), s.prompt());
    s.is_summarised = models_.engines().size() == 1 && !s.options().sampling.is_on &&
                      !s.restrictions.need_whole_rows();
    if (s.is_summarised && !s.request.symbols.empty()) {
      s.output = std::make_shared<PackedMatrix>(weights.output_layer().selected(s.request.symbols));
    }
    s.memories = std::move(memories[i]);
    s.max_length = longest_translation(s.request, models_.max_positions());
    s.ended.assign(s.groups(), 0);
    const int32_t start = model::start_symbol(weights.config());
    const int32_t root = tree_.add(HypothesisTree::kNone, start, 0);
    s.live.reserve(s.options().beam);
    s.live.push_back({root, 0});
    paths_[rows_++ * path_stride_] = root;
    if (s.prompt() > 0) read_prompt(s, team);
  }
}

// Puts the prompt into the cache in a few passes instead of a step for each token. The last token
// is left to the next step. REQUIRES: the sentence has the last row, and paths have room.
void Search::read_prompt(Sentence& s, Team* team) {
  constexpr int64_t kRows = 256;  // of a pass
  const std::vector<int32_t>& prompt = s.request.prefix;
  s.length = s.prompt();
  int32_t* const path = paths_.data() + (rows_ - 1) * path_stride_;
  for (int64_t i = 0; i < s.length; ++i) {
    path[i + 1] = tree_.add(path[i], prompt[i], 0);
    tree_.release(path[i]);
  }
  s.live[0].node = path[s.length];
  std::vector<int32_t> slots;
  for (int64_t first = 0; first < s.length; first += kRows) {
    const int64_t end = std::min(first + kRows, s.length);
    tokens_.clear();
    positions_.clear();
    slots.clear();
    for (int64_t i = first; i < end; ++i) {
      tokens_.push_back(tree_[path[i]].token);
      positions_.push_back(static_cast<int32_t>(i + 1));
      slots.insert(slots.end(), path, path + end);
    }
    models_.read({.tokens = tokens_,
                  .positions = positions_,
                  .slots = slots.data(),
                  .slot_stride = end,
                  .slot_count = tree_.size()},
                 team);
  }
}

void Search::widen_paths(int64_t stride) {
  const int64_t before = path_stride_;
  while (path_stride_ < stride) path_stride_ *= 2;
  if (path_stride_ == before) return;
  std::vector<int32_t> wide(static_cast<size_t>(rows_ * path_stride_));
  for (int64_t i = 0; i < rows_; ++i) {
    std::copy_n(paths_.data() + i * before, before, wide.data() + i * path_stride_);
  }
  paths_ = std::move(wide);
}

void Search::step(const Done& done, Team* team) {
  if (sentences_.empty()) return;
  collect_rows();
  const bool with_attention = std::ranges::any_of(
      sentences_, [](const Sentence& s) { return s.options().needs_attention(); });
  const auto change = [&](size_t i, int h, float* logits) {
    const Sentence& s = sentences_[i];
    s.restrictions.change({tree_, path(s, h) + 1, s.length, s.live[h].phrases}, logits);
  };
  models_.step({.tokens = tokens_,
                .positions = positions_,
                .slots = paths_.data(),
                .slot_stride = path_stride_,
                .slot_count = tree_.size()},
               queries_, with_attention ? static_cast<int>(options_->attention_layer) : -1,
               {.change = change, .answered = [&](size_t i) { advance(sentences_[i]); }}, team);
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

void Search::collect_rows() {
  tokens_.clear();
  positions_.clear();
  queries_.clear();
  int64_t longest = 0;
  for (auto& s : sentences_) {
    s.first_row = static_cast<int>(tokens_.size());
    for (const auto& live : s.live) {
      tokens_.push_back(tree_[live.node].token);
      positions_.push_back(static_cast<int32_t>(s.length + 1));
    }
    queries_.push_back({&s.memories, static_cast<int>(s.live.size()), Outlook::query(s)});
    longest = std::max(longest, s.length + 2);
  }
  while (next_path_stride_ < longest) next_path_stride_ *= 2;
  grow(next_paths_, beams() * next_path_stride_);
  next_rows_ = 0;
}

void Search::advance(Sentence& s) {
  candidates_.clear();
  if (s.request.is_unwanted()) {
    s.finished.clear();
  } else {
    outlook_.turn_to(s, paths_.data(), path_stride_);
    propose(s);
  }
  select(s);
  report(s);
}

// Candidates by the sentence's rule.
void Search::propose(Sentence& s) {
  if (s.is_in_prefix()) return follow_prefix(outlook_, candidates_);
  if (s.length >= s.max_length) return end(s);
  if (s.options().sampling.is_on) {
    sampler_.sample(outlook_, candidates_);
  } else if (s.request.phrases) {
    search_with_phrases(outlook_, candidates_);
  } else if (s.options().alternatives && !s.is_split) {
    begin_alternatives(outlook_, candidates_);
  } else if (s.groups() > 1) {
    search_groups(outlook_, candidates_);
  } else {
    search_beam(outlook_, candidates_);
  }
  s.is_split = true;
  if (candidates_.empty()) end(s);  // all tokens are forbidden: </s> is what is left
}

void Search::end(const Sentence& s) {
  end_all(outlook_, candidates_);
  if (s.request.phrases) keep_most_phrases(s, candidates_);
}

// Candidates that end are finished if they are among the best; of the others, as many live on as
// each group has room for.
void Search::select(Sentence& s) {
  for (const auto& candidate : candidates_) {
    if (candidate.choice.token == kEos && candidate.is_among_best) finish(s, candidate);
  }
  const bool is_over = has_ended(s, candidates_);
  std::vector<int64_t> room(s.groups());
  for (int64_t group = 0; group < s.groups(); ++group) {
    const bool is_closed = is_over || (s.groups() > 1 && s.is_full(group));
    room[group] = is_closed ? 0 : s.group_size();
  }
  std::swap(parents_, s.live);
  s.live.clear();
  for (const auto& candidate : candidates_) {
    int64_t& left = room[s.group_of(candidate.lane)];
    if (candidate.choice.token == kEos || left == 0) continue;
    extend(s, candidate);
    --left;
  }
  for (const auto& parent : parents_) tree_.release(parent.node);
  ++s.length;
}

// Once there is a single hypothesis, its tokens are final.
void Search::report(const Sentence& s) const {
  const bool is_single = s.options().beam == 1 && s.live.size() == 1;
  if (s.request.progress && is_single) s.request.progress(tree_[s.live[0].node].token);
}

void Search::extend(Sentence& s, const Candidate& c) {
  const Live& parent = parents_[c.parent];
  const int32_t node = tree_.add(parent.node, c.choice.token, c.choice.log_probability);
  s.live.push_back({node, c.lane});
  if (s.request.phrases) {
    s.live.back().phrases = s.request.phrases->after(parent.phrases, c.choice.token);
  }
  int32_t* next = next_paths_.data() + next_rows_++ * next_path_stride_;
  std::copy_n(path(s, c.parent), s.length + 1, next);
  next[s.length + 1] = node;
  if (!s.options().needs_attention()) return;
  grow(node_attention_, tree_.size());
  const float* attention = models_.attention(s.first_row + c.parent);
  node_attention_[node].assign(attention, attention + s.request.source.size());
}

void Search::finish(Sentence& s, const Candidate& c) {
  Hypothesis h;
  const int64_t length = s.length - s.prompt();  // without </s>
  h.score = normalised(s.options(), c.score, length + 1);
  const int64_t group = s.group_of(c.lane);
  // Coverage can only lower the score: what is too late without it need not be put together.
  if (comes_too_late(s, group, h.score)) return;
  h.tokens.assign(length + 1, kEos);
  h.log_probabilities.assign(length + 1, c.choice.log_probability);
  if (s.options().needs_attention()) {
    const float* attention = models_.attention(s.first_row + c.parent);
    h.attention.resize(s.length + 1);
    h.attention[s.length].assign(attention, attention + s.request.source.size());
  }
  int32_t node = s.live[c.parent].node;
  for (int64_t i = length - 1; i >= 0; --i, node = tree_[node].parent) {
    h.tokens[i] = tree_[node].token;
    h.log_probabilities[i] = tree_[node].log_probability;
    if (s.options().needs_attention()) h.attention[i] = node_attention_[node];
  }
  h.coverage = coverage_term(s.options(), h.attention);
  h.score += h.coverage;
  if (comes_too_late(s, group, h.score)) return;
  if (!s.options().gives_attention()) h.attention.clear();
  accept(s, group, std::move(h));
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
