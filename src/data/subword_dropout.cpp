#include "data/subword_dropout.h"

#include <utility>

#include "base/checksum.h"

namespace residual::data {

using text::Vocabulary;

SubwordDropout::SubwordDropout(std::shared_ptr<const text::Bpe> bpe,
                               std::shared_ptr<const Vocabulary> vocabulary)
    : segment_(bpe), vocabulary_(std::move(vocabulary)), separator_(bpe->options().separator) {}

void SubwordDropout::apply(uint64_t draw, size_t begin, int64_t longest,
                           std::vector<int32_t>& ids) {
  const auto sentence = std::span(ids).subspan(begin);
  const auto words = sentence.first(sentence.size() - 1);
  made_.clear();
  for (size_t first = 0, end = 0; first < words.size(); first = end) {
    while (end + 1 < words.size() && vocabulary_->symbol(words[end]).ends_with(separator_)) ++end;
    ++end;
    const uint64_t place[] = {draw, first};
    append_word(words.subspan(first, end - first),
                checksum({reinterpret_cast<const char*>(place), sizeof(place)}));
  }
  if (static_cast<int64_t>(made_.size()) + 1 > longest) return;
  ids.resize(begin);
  ids.insert(ids.end(), made_.begin(), made_.end());
  ids.push_back(Vocabulary::kEos);
}

void SubwordDropout::append_word(std::span<const int32_t> word, uint64_t draw) {
  const size_t before = made_.size();
  bool is_known = true;
  word_.clear();
  for (const int32_t id : word) {
    if (!word_.empty()) word_.resize(word_.size() - separator_.size());  // of the piece before
    word_ += vocabulary_->symbol(id);
    is_known &= id >= Vocabulary::kSpecials;
  }
  if (is_known) {
    pieces_.clear();
    segment_.draw_by(draw);
    segment_(word_, pieces_);
    vocabulary_->encode(pieces_, made_);
    made_.pop_back();  // </s>
    for (size_t i = before; i < made_.size(); ++i) is_known &= made_[i] != Vocabulary::kUnk;
  }
  if (is_known) return;
  made_.resize(before);
  made_.insert(made_.end(), word.begin(), word.end());
}

}  // namespace residual::data
