#include "decode/weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/pages.h"
#include "base/parallel.h"
#include "model/parameters.h"
#include "schemes/registry.h"

namespace residual::decode {
namespace {

using schemes::Side;

constexpr double kMarianEpsilon = 1e-9;  // of its norms

std::vector<float> output_bias(const model::Config& config, const Weights::Find& find) {
  if (!config.has_output_bias()) return {};
  const auto bias = find(model::kOutputBias).numbers;
  return {bias.begin(), bias.end()};
}

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
      owner_(std::move(owner)),
      output_(find_(model::output_embedding(config_)), output_bias(config_, find_),
              static_cast<int>(config_.target_vocabulary), static_cast<int>(config_.width),
              precision, owner_) {
  if (precision == Precision::float32 || find_(model::output_embedding(config_)).is_quantized()) {
    Packer packer(find_, precision, owner_, Packer::Aim::leave);
    bind(packer, unpacked_, output_.slot(false));
    if (packer.run()) return;
    unpacked_ = {};
  }
  pack();
}

void Weights::pack() const {
  std::call_once(packing_, [&] {
    Packer packer(find_, precision_, owner_, Packer::Aim::pack);
    bind(packer, packed_, output_.slot(true));
    packer.run();
    find_ = nullptr;
    output_.use_packed();
    is_packed_.store(true, std::memory_order_release);
  });
}

void Weights::bind(Packer& packer, Stacks& stacks, PackedMatrix& output_matrix) const {
  const model::Config& config = config_;
  const int64_t d = config.width;
  const std::string output = model::output_embedding(config);
  if (!output_.has_screen()) {
    packer.matrix(output_matrix, find_(output), output_.bias(), d, config.target_vocabulary);
  }
  for (const Side side : {Side::encoder, Side::decoder}) {
    StackWeights& stack = side == Side::encoder ? stacks.encoder : stacks.decoder;
    const schemes::Stack shape = model::stack(config, side);
    const std::string table =
        side == Side::encoder ? model::source_embedding(config) : model::target_embedding(config);
    stack.embedding = table == output && !output_.has_screen()
                          ? EmbeddingTable(output_matrix, d)
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
        config.form == model::Form::marian ? kMarianEpsilon : 0);
    stack.scheme = schemes::make(arithmetic, shape, config.residual);
  }
}

std::shared_ptr<const Weights> load_weights(std::shared_ptr<const model::Directory> directory,
                                            Precision precision) {
  const model::Config& config = directory->description().model;
  require(config.kind == model::Kind::translation, "{}: is not a translation model",
          directory->path().string());
  const auto find = file_values(std::move(directory));
  // A copy of `find` keeps the file.
  return std::make_shared<Weights>(config, find, precision, std::make_shared<Weights::Find>(find));
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
