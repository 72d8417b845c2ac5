#include "decode/weights.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/pages.h"
#include "base/parallel.h"
#include "model/parameters.h"
#include "schemes/make.h"

namespace residual::decode {
namespace {

using schemes::Side;

// Gives back the memory of mapped pages that lie wholly in `bytes`; they can be read again.
void drop_pages(std::span<const std::byte> bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t before = -reinterpret_cast<uintptr_t>(bytes.data()) % page;
  if (before >= bytes.size()) return;
  const auto whole = bytes.subspan(before, (bytes.size() - before) / page * page);
  madvise(const_cast<std::byte*>(whole.data()), whole.size(), MADV_DONTNEED);
}

void drop(const Values& v, std::span<const std::byte> bytes) {
  if (v.file != nullptr) drop_pages(bytes);
}

// Whether single rows of float32 numbers are read from their file. The memory that this saves is
// the table's; where that is small, reading takes longer than a step's other work.
bool is_read(const Values& v) {
  constexpr size_t kLarge = 16 << 20;
  return v.file != nullptr && v.numbers.size_bytes() >= kLarge;
}

// Row `id` of float32 numbers in a file.
void read_row(const Values& v, int64_t id, int64_t width, float* row) {
  const auto bytes = std::as_bytes(v.numbers.subspan(id * width, width));
  v.file->copy({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
               reinterpret_cast<char*>(row));
}

// Whether a file's screen can be used: its rows may have been changed since. One element of each is
// looked at, the same of a panel's 64, which lie side by side. Pages of the rows do not stay.
bool has_screen_of(const Values& v, int64_t out, int64_t in) {
  const bool is_aligned = reinterpret_cast<uintptr_t>(v.screen.data()) % kernels::kCacheLine == 0;
  if (v.screen.empty() || !is_aligned) return false;
  const auto* const panels = reinterpret_cast<const int16_t*>(v.screen.data());
  constexpr int64_t kRows = 4096;  // at a time
  for (int64_t o = 0; o < out; ++o) {
    if (o % kRows == 0 && o > 0)
      drop(v, std::as_bytes(v.numbers.subspan((o - kRows) * in, kRows * in)));
    const int64_t panel = o / kernels::kPanel, column = panel % in;
    const float whole = panels[(panel * in + column) * kernels::kPanel + o % kernels::kPanel];
    const float error = v.numbers[o * in + column] - v.scales[o] * whole;
    if (!(std::abs(error) <= 0.51F * v.scales[o])) return false;
  }
  return true;
}

// Tensors of a file as Values. Those that cannot be used where they are, are converted and kept.
class FileValues {
 public:
  explicit FileValues(std::shared_ptr<const model::Directory> directory)
      : directory_(std::move(directory)) {}

  Values find(const std::string& name) {
    const bool has_panels = directory_->weights().contains(name + model::kPanels);
    if (has_panels && !directory_->weights().contains(name)) {
      const auto& panels = directory_->weights().at(name + model::kPanels);
      return {.panels = std::as_bytes(std::span(panels.bytes)),
              .panel_precision =
                  panels.dtype == model::Dtype::f16 ? Precision::float16 : Precision::float32};
    }
    const auto& tensor = directory_->weights().at(name);
    if (tensor.dtype == model::Dtype::i8) {
      const auto& scales = directory_->weights().at(name + model::kScale);
      require(scales.shape == std::vector<int64_t>{tensor.shape.at(0)},
              "{}: {} has shape [{}], expected one scale per row of {}",
              directory_->weights().name(), scales.name, fmt::join(scales.shape, ", "), name);
      return {.quantized = tensor.values<int8_t>(),
              .scales = scales.values<float>(),
              .file = &directory_->weights()};
    }
    const bool is_aligned = reinterpret_cast<uintptr_t>(tensor.bytes.data()) % alignof(float) == 0;
    if (tensor.dtype == model::Dtype::f32 && is_aligned) {
      Values values = {.numbers = tensor.values<float>(), .file = &directory_->weights()};
      if (has_panels) {
        values.screen =
            std::as_bytes(std::span(directory_->weights().at(name + model::kPanels).bytes));
        values.scales = directory_->weights().at(name + model::kScale).values<float>();
      }
      return values;
    }
    const bool is_matrix = tensor.shape.size() == 2;
    if (tensor.dtype == model::Dtype::f16 && is_aligned && is_matrix) {
      const auto* const halves = reinterpret_cast<const uint16_t*>(tensor.bytes.data());
      return {.halves = {halves, static_cast<size_t>(tensor.size())},
              .file = &directory_->weights()};
    }
    const auto [made, is_new] = converted_.try_emplace(name);
    if (is_new) made->second = tensor.to_float();
    return {.numbers = made->second};
  }

 private:
  std::shared_ptr<const model::Directory> directory_;
  std::map<std::string, std::vector<float>> converted_;
};

}  // namespace

EmbeddingTable::EmbeddingTable(const Values& values, int64_t width, Precision precision)
    : values_(values), width_(width), precision_(precision) {}

const float* EmbeddingTable::row(int32_t id, float* room) const {
  if (shared_ != nullptr) {
    shared_->copy_row(id, room);
    return room;
  }
  const int64_t at = id * width_;
  if (!values_.halves.empty()) {
    kernels::widen(values_.halves.data() + at, width_, room);
    if (precision_ != Precision::int8) return room;
  }
  if (precision_ == Precision::float16 && !values_.is_quantized()) {
    thread_local std::vector<uint16_t> halves;
    halves.resize(width_);
    kernels::halve(values_.numbers.data() + at, 1, width_, halves.data());
    kernels::widen(halves.data(), width_, room);
    return room;
  }
  if (precision_ == Precision::float32 && !values_.is_quantized()) {
    if (!is_read(values_)) return values_.numbers.data() + at;
    read_row(values_, id, width_, room);
    return room;
  }
  thread_local std::vector<int8_t> rounded;
  const int8_t* q = nullptr;
  float scale = 0;
  if (values_.is_quantized()) {
    q = values_.quantized.data() + at;
    scale = values_.scales[id];
  } else {
    rounded.resize(width_);
    const float* const numbers = values_.halves.empty() ? values_.numbers.data() + at : room;
    kernels::quantize(numbers, 1, static_cast<int>(width_), rounded.data(), &scale);
    q = rounded.data();
  }
  for (int64_t j = 0; j < width_; ++j) room[j] = scale * static_cast<float>(q[j]);
  return room;
}

void EmbeddingTable::embed(std::span<const int32_t> ids, std::span<const int32_t> places,
                           const float* positions, float* y) const {
  const float factor = std::sqrt(static_cast<float>(width_));
  for (size_t i = 0; i < ids.size(); ++i, y += width_) {
    kernels::add_scaled(positions + places[i] * width_, factor, row(ids[i], y), width_, y);
  }
}

// Collects what there is to pack, then packs the largest first on all threads, into one block of
// memory. Or leaves all where it is.
class Weights::Packer {
 public:
  enum class Aim { pack, leave };

  Packer(const Find& find, Precision precision, std::shared_ptr<const void> owner, Aim aim)
      : find_(find), precision_(precision), owner_(std::move(owner)), aim_(aim) {}

  // Rows [first, first + out) of the matrix `name`.weight and of its bias.
  void linear(PackedMatrix& into, const std::string& name, int64_t in, int64_t first, int64_t out) {
    const float* const bias = find_(name + ".bias").numbers.data();
    add(into, find_(name + ".weight"), bias + first, in, first, out);
  }
  void matrix(PackedMatrix& into, const Values& values, const float* bias, int64_t in,
              int64_t out) {
    add(into, values, bias, in, 0, out);
  }

  // False: a matrix cannot be used where it is.
  bool run() {
    if (aim_ == Aim::leave) return can_leave_;
    std::ranges::stable_sort(tasks_, std::greater<>(), &Task::bytes);
    size_t all = 0;
    for (Task& task : tasks_) task.place = std::exchange(all, all + task.bytes);
    const auto memory = std::make_shared<Pages>(all);
    parallel_for(static_cast<int64_t>(tasks_.size()), 1, [&](int64_t begin, int64_t) {
      const Task& task = tasks_[begin];
      task.work(Memory(memory, memory->data() + task.place));
    });
    return true;
  }

 private:
  using Memory = kernels::Memory;
  struct Task {
    size_t bytes;
    std::function<void(Memory)> work;
    size_t place = 0;
  };

  void add(PackedMatrix& into, const Values& v, const float* bias, int64_t in, int64_t first,
           int64_t out) {
    const auto rows = static_cast<int>(out), columns = static_cast<int>(in);
    const int64_t begin = first * in;
    if (aim_ == Aim::leave) {
      leave(into, v, bias, begin, rows, columns);
    } else if (!v.panels.empty()) {
      add_packed(into, v, bias, columns, static_cast<int>(first), rows);
    } else if (v.is_quantized()) {
      drop(v, std::as_bytes(v.quantized.subspan(begin, out * in)));  // as float32 below
      tasks_.push_back({PackedMatrix::bytes(rows, columns, Precision::int8), [=, &into](Memory m) {
                          into = PackedMatrix(v.quantized.data() + begin, v.scales.data() + first,
                                              bias, rows, columns, std::move(m));
                          drop(v, std::as_bytes(v.quantized.subspan(begin, out * in)));
                        }});
    } else if (!v.halves.empty()) {
      const Precision precision =
          precision_ == Precision::int8 ? Precision::int8 : Precision::float16;
      tasks_.push_back({PackedMatrix::bytes(rows, columns, precision), [=, &into](Memory m) {
                          const uint16_t* const halves = v.halves.data() + begin;
                          into = precision == Precision::float16
                                     ? PackedMatrix(halves, bias, rows, columns, std::move(m))
                                     : rounded(halves, bias, rows, columns, std::move(m));
                          drop(v, std::as_bytes(v.halves.subspan(begin, out * in)));
                        }});
    } else {
      // Before as well: what unpacked products have read shall not be there beside what is packed.
      drop(v, std::as_bytes(v.numbers.subspan(begin, out * in)));
      tasks_.push_back({PackedMatrix::bytes(rows, columns, precision_), [=, this, &into](Memory m) {
                          into = PackedMatrix(v.numbers.data() + begin, bias, rows, columns,
                                              precision_, std::move(m));
                          drop(v, std::as_bytes(v.numbers.subspan(begin, out * in)));
                        }});
    }
  }
  static PackedMatrix rounded(const uint16_t* halves, const float* bias, int out, int in,
                              Memory memory) {
    std::vector<float> numbers(static_cast<size_t>(out) * in);
    kernels::widen(halves, static_cast<int64_t>(numbers.size()), numbers.data());
    return {numbers.data(), bias, out, in, Precision::int8, std::move(memory)};
  }
  // As it is in the file, if the products can take it so.
  void leave(PackedMatrix& into, const Values& v, const float* bias, int64_t begin, int out,
             int in) {
    const Precision stored = v.is_quantized() ? Precision::int8 : Precision::float32;
    const bool is_stored = v.is_quantized() || (!v.numbers.empty() && precision_ == stored);
    can_leave_ &= v.file != nullptr && is_stored && PackedMatrix::fits_unpacked(out, in, stored);
    if (!can_leave_) return;
    into = v.is_quantized()
               ? PackedMatrix::unpacked({owner_, v.quantized.data() + begin},
                                        v.scales.data() + begin / in, bias, out, in)
               : PackedMatrix::unpacked({owner_, v.numbers.data() + begin}, bias, out, in);
  }
  // In place, where the layout is that of the products.
  void add_packed(PackedMatrix& into, const Values& v, const float* bias, int in, int first,
                  int out) {
    const Precision stored = v.panel_precision;
    const bool stays =
        precision_ == stored || (stored == Precision::float16 && precision_ == Precision::float32);
    const std::byte* const at = v.panels.data() + PackedMatrix::bytes(first, in, stored);
    const bool is_aligned = reinterpret_cast<uintptr_t>(at) % kernels::kCacheLine == 0;
    if (stays && is_aligned && first % kernels::kPanel == 0) {
      into = PackedMatrix({owner_, at}, bias, out, in, stored);
      return;
    }
    const Precision precision = stays ? stored : precision_;
    tasks_.push_back(
        {PackedMatrix::bytes(out, in, precision), [=, this, &into](Memory m) {
           const PackedMatrix whole({owner_, v.panels.data()}, nullptr, first + out, in, stored);
           std::vector<float> rows(static_cast<size_t>(out) * in);
           for (int o = 0; o < out; ++o) {
             whole.copy_row(first + o, rows.data() + int64_t{o} * in);
           }
           into = PackedMatrix(rows.data(), bias, out, in, precision, std::move(m));
         }});
  }
  const Find& find_;
  Precision precision_;
  std::shared_ptr<const void> owner_;
  Aim aim_;
  bool can_leave_ = true;
  std::vector<Task> tasks_;
};

Weights::Weights(model::Config config, Find find, Precision precision,
                 std::shared_ptr<const void> owner)
    : config_(std::move(config)),
      precision_(precision),
      find_(std::move(find)),
      owner_(std::move(owner)) {
  if (config_.has_output_bias()) {
    const auto bias = find_(model::kOutputBias).numbers;
    output_bias_.assign(bias.begin(), bias.end());
  }
  make_screen();
  if (precision == Precision::float32 || find_(model::output_embedding(config_)).is_quantized()) {
    Packer packer(find_, precision, owner_, Packer::Aim::leave);
    bind(packer, unpacked_);
    if (packer.run()) return;
    unpacked_ = {};
  }
  pack();
}

void Weights::make_screen() {
  const Values v = find_(model::output_embedding(config_));
  const auto out = static_cast<int>(config_.target_vocabulary);
  const auto in = static_cast<int>(config_.width);
  if (precision_ != Precision::float32 || v.numbers.empty()) return;
  if (!PackedMatrix::fits_unpacked(out, in)) return;
  output_values_ = v;
  const float* const bias = output_bias();
  output_rows_ = PackedMatrix::unpacked({owner_, v.numbers.data()}, bias, out, in);
  if (is_read(v)) read_output_row_ = [v, in](int o, float* row) { read_row(v, o, in, row); };
  const auto policy = thread_count() > 1 ? std::launch::async : std::launch::deferred;
  screen_ = std::async(policy, [=, owner = owner_] {
    const auto stored_or_made = [&] {
      if (has_screen_of(v, out, in)) {
        return PackedMatrix({owner, v.screen.data()}, bias, out, in, Precision::int16,
                            v.scales.data());
      }
      const auto memory = std::make_shared<Pages>(PackedMatrix::bytes(out, in, Precision::int16));
      return PackedMatrix(v.numbers.data(), bias, out, in, Precision::int16,
                          {memory, memory->data()});
    };
    PackedMatrix screen = stored_or_made();
    drop(v, std::as_bytes(v.numbers));
    return screen;
  });
}

void Weights::pack() const {
  std::call_once(packing_, [&] {
    Packer packer(find_, precision_, owner_, Packer::Aim::pack);
    bind(packer, packed_);
    packer.run();
    find_ = nullptr;
    is_packed_.store(true, std::memory_order_release);
  });
}

const PackedMatrix& Weights::output() const {
  if (!has_screen()) return now().output;
  if (!is_packed_.load(std::memory_order_acquire)) return output_rows_;
  std::call_once(output_packing_, [&] {
    packed_.output = PackedMatrix(output_values_.numbers.data(), output_bias(), output_rows_.out(),
                                  output_rows_.in(), Precision::float32);
    drop(output_values_, std::as_bytes(output_values_.numbers));
  });
  return packed_.output;
}

void Weights::likely_logits(const float* x, std::span<const int32_t> symbols, Access access,
                            float* logits) const {
  const bool reads = access == Access::read && read_output_row_ != nullptr;
  output_rows_.multiply_some(x, symbols, logits, reads ? &read_output_row_ : nullptr);
}

const PackedMatrix* Weights::likely_output() const {
  if (!has_screen()) return &now().output;
  // Nobody waits for it, or makes it, who may not need it.
  const bool is_ready = screen_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  return is_ready ? &screen_.get() : nullptr;
}

void Weights::bind(Packer& packer, Stacks& stacks) const {
  const model::Config& config = config_;
  const int64_t d = config.width;
  const std::string output = model::output_embedding(config);
  if (!has_screen()) {
    packer.matrix(stacks.output, find_(output), output_bias(), d, config.target_vocabulary);
  }
  for (const Side side : {Side::encoder, Side::decoder}) {
    StackWeights& stack = side == Side::encoder ? stacks.encoder : stacks.decoder;
    const schemes::Stack shape = model::stack(config, side);
    const std::string table =
        side == Side::encoder ? model::source_embedding(config) : model::target_embedding(config);
    stack.embedding = table == output && !has_screen()
                          ? EmbeddingTable(stacks.output, d)
                          : EmbeddingTable(find_(table), d, precision_);
    stack.layers.resize(shape.layers);
    for (int l = 0; l < shape.layers; ++l) {
      LayerWeights& layer = stack.layers[l];
      const auto name = [&](int place, const char* matrix) {
        const int block = l * shape.blocks_per_layer + place;
        return fmt::format("{}.{}", model::block_name(config, side, block), matrix);
      };
      const int last = shape.blocks_per_layer - 1;
      packer.linear(layer.self.qkv, name(0, "qkv"), d, 0, 3 * d);
      packer.linear(layer.self.output, name(0, "output"), d, 0, d);
      packer.linear(layer.feed_forward.inner, name(last, "inner"), d, 0, config.inner);
      packer.linear(layer.feed_forward.outer, name(last, "outer"), config.inner, 0, d);
      if (side == Side::encoder) continue;
      packer.linear(layer.cross.query, name(1, "query"), d, 0, d);
      packer.linear(layer.cross.key, name(1, "key_value"), d, 0, d);
      packer.linear(layer.cross.value, name(1, "key_value"), d, d, d);
      packer.linear(layer.cross.output, name(1, "output"), d, 0, d);
    }
    const std::string prefix = side == Side::encoder ? "encoder.residual." : "decoder.residual.";
    RowArithmetic arithmetic(
        [&](const std::string& parameter) -> std::span<const float> {
          const auto numbers = find_(prefix + parameter).numbers;
          return scheme_parameters_.emplace_back(numbers.begin(), numbers.end());
        },
        config.norm_epsilon());
    stack.scheme = schemes::make(arithmetic, shape, config.residual);
  }
}

std::shared_ptr<const Weights> load_weights(std::shared_ptr<const model::Directory> directory,
                                            Precision precision) {
  const model::Config& config = directory->description().model;
  require(config.kind == model::Kind::translation, "{}: is not a translation model",
          directory->path().string());
  const auto values = std::make_shared<FileValues>(std::move(directory));
  return std::make_shared<Weights>(
      config, [values](const std::string& name) { return values->find(name); }, precision, values);
}

std::shared_ptr<const Weights> copy_weights(
    const model::Config& config, const std::map<std::string, std::span<const float>>& parameters,
    Precision precision) {
  require(config.kind == model::Kind::translation, "only translation models can be decoded");
  for (const auto& p : model::parameters(config)) {
    const auto given = parameters.find(p.name);
    require(given != parameters.end(), "no values for parameter {}", p.name);
    require(static_cast<int64_t>(given->second.size()) == p.size(),
            "parameter {} has {} values, expected {}", p.name, given->second.size(), p.size());
  }
  const auto embeddings = std::make_shared<std::map<std::string, std::vector<float>>>();
  for (const auto& name : {model::source_embedding(config), model::target_embedding(config),
                           model::output_embedding(config)}) {
    const auto& given = parameters.at(name);
    embeddings->try_emplace(name, given.begin(), given.end());
  }
  const auto find = [&](const std::string& name) -> Values {
    if (const auto copy = embeddings->find(name); copy != embeddings->end()) {
      return {.numbers = copy->second};
    }
    return {.numbers = parameters.at(name)};
  };
  return std::make_shared<Weights>(config, find, precision, embeddings);
}

}  // namespace residual::decode
