#include "decode/output_layer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "base/pages.h"
#include "base/parallel.h"

namespace residual::decode {
namespace {

// As many symbols as hold most of the probability where it is not spread out; and one less than a
// vector has, for the one that is asked for.
constexpr int kCorrected = 15;

// A screen in the file needs neither memory nor time. Making one takes 33 MB in base, which hosts
// that hand memory out slowly took 100 ms for, in a process whose first sentence takes 200. The
// rows remain authoritative, since another program may have changed them alone: one element of each
// is compared with the screen, the same of a panel's 64, which lie side by side (1 to 2 ms in
// base). Pages of the rows do not stay.
bool has_screen_of(const Float32& v, int64_t out, int64_t in) {
  const bool is_aligned = reinterpret_cast<uintptr_t>(v.screen.data()) % kernels::kCacheLine == 0;
  if (v.screen.empty() || !is_aligned) return false;
  const auto* const panels = reinterpret_cast<const int16_t*>(v.screen.data());
  constexpr int64_t kRows = 4096;  // at a time
  for (int64_t o = 0; o < out; ++o) {
    if (o % kRows == 0 && o > 0)
      drop(v.file, std::as_bytes(v.numbers.subspan((o - kRows) * in, kRows * in)));
    const int64_t panel = o / kernels::kPanel, column = panel % in;
    const float whole = panels[(panel * in + column) * kernels::kPanel + o % kernels::kPanel];
    const float error = v.numbers[o * in + column] - v.scales[o] * whole;
    if (!(std::abs(error) <= 0.51F * v.scales[o])) return false;
  }
  return true;
}

}  // namespace

OutputLayer::OutputLayer(const Values& values, std::vector<float> bias, int out, int in,
                         Precision precision, std::shared_ptr<const void> owner,
                         PackedMatrix::Listener listener)
    : bias_(std::move(bias)) {
  const auto* const numbers = std::get_if<Float32>(&values);
  if (precision != Precision::float32 || numbers == nullptr) return;
  if (!PackedMatrix::fits_unpacked(out, in)) return;
  const Float32 v = values_ = *numbers;
  const float* const added = this->bias();
  rows_ = PackedMatrix::unpacked({owner, v.numbers.data()}, added, out, in);
  if (is_read(v)) read_row_ = [v, in](int o, float* row) { read_row(v, o, in, row); };
  const auto policy = thread_count() > 1 ? std::launch::async : std::launch::deferred;
  screen_ = std::async(policy, [=] {
    const auto stored_or_made = [&] {
      if (has_screen_of(v, out, in)) {
        PackedMatrix stored({owner, v.screen.data()}, added, out, in, Precision::int16,
                            v.scales.data());
        stored.set_listener(listener);
        return stored;
      }
      const auto memory = std::make_shared<Pages>(PackedMatrix::bytes(out, in, Precision::int16));
      return PackedMatrix(v.numbers.data(), added, out, in, Precision::int16,
                          {memory, memory->data()});
    };
    PackedMatrix screen = stored_or_made();
    drop(v.file, std::as_bytes(v.numbers));
    return screen;
  });
}

const PackedMatrix& OutputLayer::matrix() const {
  const bool is_packed = is_packed_.load(std::memory_order_acquire);
  if (!has_screen()) return slot(is_packed);
  if (!is_packed) return rows_;
  std::call_once(packing_, [&] {
    packed_ =
        PackedMatrix(values_.numbers.data(), bias(), rows_.out(), rows_.in(), Precision::float32);
    drop(values_.file, std::as_bytes(values_.numbers));
  });
  return packed_;
}

void OutputLayer::some_logits(const float* x, std::span<const int32_t> symbols, Access access,
                              float* logits) const {
  const bool reads = access == Access::read && read_row_ != nullptr;
  rows_.multiply_some(x, symbols, logits, reads ? &read_row_ : nullptr);
}

const PackedMatrix* OutputLayer::likely() const {
  if (!has_screen()) return &matrix();
  // Nobody waits for it, or makes it, who may not need it.
  const bool is_ready = screen_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  return is_ready ? &screen_.get() : nullptr;
}

void OutputLayer::project(const float* x, int64_t rows, float* logits, Team* team) const {
  multiply(matrix(), {.x = x, .rows = rows, .y = logits}, team);
}

// What a row's logits x W^T are, of which `near` knows the best and a normaliser with about W. The
// best are ranked by W. The share of the first of them in the normaliser is W's: always as many, so
// that a symbol's probability does not depend on how many are asked for.
void OutputLayer::correct(kernels::RowSummary& near, Access access, const float* x,
                          kernels::RowSummary& row) const {
  std::array<int32_t, kernels::kMostBest + 1> ids;
  std::array<float, kernels::kMostBest + 1> logits;
  const std::span best(near.best, near.found);
  std::ranges::transform(best, ids.begin(), &kernels::Scored::index);
  ids[best.size()] = near.asked.index;
  some_logits(x, std::span(ids).first(best.size() + 1), access, logits.data());

  const auto share = [&](float logit) { return std::exp(double{logit} - near.most); };
  row.most = near.most;
  row.sum = near.sum;
  for (size_t i = 0; i < best.size(); ++i) {
    if (i < kCorrected) row.sum += share(logits[i]) - share(best[i].value);
    best[i].value = logits[i];
  }
  row.asked.value = logits[best.size()];
  // One that is not a number cannot be sorted, and says that the row is not to be trusted; so does
  // an infinite one.
  const auto is_number = [](const kernels::Scored& each) {
    return each.value < std::numeric_limits<float>::infinity();
  };
  if (!std::ranges::all_of(best, is_number)) row.sum = std::numeric_limits<double>::quiet_NaN();
  if (!std::isnan(row.sum)) {
    std::ranges::sort(best, [](const kernels::Scored& a, const kernels::Scored& b) {
      return a.value != b.value ? a.value > b.value : a.index < b.index;
    });
  }
  row.found = std::min(row.k, near.found);
  row.seen = near.seen;
  std::copy_n(best.begin(), row.found, row.best);
}

// A step ranks symbols by the screen, takes the fifteen best or one more than it needs, recomputes
// their logits from the float32 rows, ranks them by those, and corrects their share of the
// softmax's sum. Only the probability of all other symbols keeps the screen's rounding: on 16,039
// tokens of Multi30k log-probabilities moved by 8e-6 at most, 5e-7 on average, and all 5,000
// hypotheses of 5-best lists stayed the same (models of recipes/studies/small-longer.toml). float16
// would round seven times more coarsely in the same bytes. Tried and not faster: 12 bits per weight
// (8.2 MB less per step, but unpacking takes 1.02 ms of two cores instead of 0.75).
void OutputLayer::summarise(const float* x, std::span<kernels::RowSummary> rows, Scratch& scratch,
                            Team* team, const PackedMatrix* next) const {
  if (!has_screen()) return summarise(matrix(), x, rows, scratch, team, next);
  auto& screened = scratch.screened;
  auto& best_screened = scratch.best_screened;
  // More than are wanted: they may change places with the last of those.
  constexpr int kMore = kernels::kMostBest - kMostBest;
  screened.clear();
  for (const auto& row : rows) {
    screened.push_back(
        {.k = std::max(row.k + kMore, kCorrected), .asked = {.index = row.asked.index}});
  }
  best_screened.resize(rows.size() * kernels::kMostBest);
  for (size_t i = 0; i < rows.size(); ++i) {
    screened[i].best = best_screened.data() + i * kernels::kMostBest;
  }
  summarise(screen(), x, screened, scratch, team, next);
  // A single sentence is the smallest that a process can be, and can wait for a few reads.
  constexpr size_t kFew = 16;
  const auto access = rows.size() <= kFew ? Access::read : Access::map;
  run(team, rows.size(), [&](size_t i) {
    correct(scratch.screened[i], access, x + static_cast<int64_t>(i) * rows_.in(), rows[i]);
  });
}

// Logits are made some columns at a time, and looked at while those are in the cache.
void OutputLayer::summarise(const PackedMatrix& matrix, const float* x,
                            std::span<kernels::RowSummary> rows, Scratch& scratch, Team* team,
                            const PackedMatrix* next) {
  constexpr int64_t kLogits = 256 << 10;  // at a time: 1 MB
  constexpr int64_t kPart = kernels::RowSummary::kPart;
  const auto count = static_cast<int64_t>(rows.size());
  if (count == 0) return;
  const int64_t stride = std::max<int64_t>(kLogits / count / kPart, 1) * kPart;
  const int64_t most = std::min(stride, int64_t{matrix.panels()} * kernels::kPanel);
  if (static_cast<int64_t>(scratch.wide.size()) < count * most) scratch.wide.resize(count * most);
  float* const logits = scratch.wide.data();
  for (int64_t column = 0; column < matrix.out(); column += stride) {
    const int64_t columns = std::min<int64_t>(stride, matrix.out() - column);
    const bool is_last = column + columns == matrix.out();
    multiply(matrix,
             {.x = x,
              .rows = count,
              .y = logits,
              .y_stride = columns,
              .y_column = column,
              .first_panel = static_cast<int>(column / kernels::kPanel),
              .last_panel = static_cast<int>((column + columns - 1) / kernels::kPanel + 1)},
             team, is_last ? next : nullptr);
    run(team, rows.size(),
        [&](size_t i) { rows[i].add(logits + static_cast<int64_t>(i) * columns, columns); });
  }
}

}  // namespace residual::decode
