#include "decode/weights.h"

#include <algorithm>
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

// Returns a parameter that is not a matrix.
std::span<const float> numbers(const Weights::Find& find, const std::string& name) {
  const Values values = find(name);
  const auto* const found = std::get_if<Float32>(&values);
  require(found != nullptr, "{} is stored as a matrix is", name);
  return found->numbers;
}

const char* commands_of(model::Kind kind) {
  switch (kind) {
    case model::Kind::language:
      return "is a language model; use it with `residual generate` or `residual score-text`";
    case model::Kind::masked:
      return "is a masked model; use it with `residual fill` or `residual embed`";
    case model::Kind::translation:
      break;
  }
  return "is a translation model; use it with `residual translate` or `residual score-pairs`";
}

std::vector<float> output_bias(const model::Config& config, const Weights::Find& find) {
  if (!config.has_output_bias()) return {};
  const auto bias = numbers(find, model::kOutputBias);
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
  thread_local std::vector<int8_t> rounded;
  const int8_t* q = nullptr;
  float scale = 0;
  if (const auto* const stored = std::get_if<Int8>(&values_)) {
    q = stored->numbers.data() + at;
    scale = stored->scales[id];
  } else {
    const float* numbers = room;
    if (const auto* const halves = std::get_if<Float16>(&values_)) {
      kernels::widen(halves->numbers.data() + at, width_, room);
      if (precision_ != Precision::int8) return room;
    } else {
      const Float32& stored32 = std::get<Float32>(values_);
      if (precision_ == Precision::float16) {
        thread_local std::vector<uint16_t> narrow;
        narrow.resize(width_);
        kernels::halve(stored32.numbers.data() + at, 1, width_, narrow.data());
        kernels::widen(narrow.data(), width_, room);
        return room;
      }
      numbers = stored32.numbers.data() + at;
      if (precision_ == Precision::float32) {
        if (!is_read(stored32)) return numbers;
        read_row(stored32, id, width_, room);
        return room;
      }
    }
    rounded.resize(width_);
    kernels::quantize(numbers, 1, static_cast<int>(width_), rounded.data(), &scale);
    q = rounded.data();
  }
  for (int64_t j = 0; j < width_; ++j) room[j] = scale * static_cast<float>(q[j]);
  return room;
}

void EmbeddingTable::embed(std::span<const int32_t> ids, std::span<const int32_t> places,
                           const float* positions, float factor, float* y) const {
  for (size_t i = 0; i < ids.size(); ++i, y += width_) {
    const float* const embedded = row(ids[i], y);
    if (positions == nullptr) {
      kernels::scale(factor, embedded, width_, y);
    } else {
      kernels::add_scaled(positions + places[i] * width_, factor, embedded, width_, y);
    }
  }
}

void EmbeddingTable::copy_row(int32_t id, float* to) const {
  const float* const found = row(id, to);
  if (found != to) std::copy_n(found, width_, to);
}

// Collects what there is to pack, then packs the largest first on all threads, into one block of
// memory. Or leaves all where it is.
class Weights::Packer {
 public:
  enum class Aim { pack, leave };

  Packer(const Find& find, Precision precision, std::shared_ptr<const void> owner,
         PackedMatrix::Listener listener, Aim aim)
      : find_(find),
        precision_(precision),
        owner_(std::move(owner)),
        listener_(std::move(listener)),
        aim_(aim) {}

  bool has_tasks() const { return !tasks_.empty(); }

  // Rows [first, first + out) of the matrix `name`.weight and of its bias, if it has one.
  void linear(PackedMatrix& into, const std::string& name, bool has_bias, int64_t in, int64_t first,
              int64_t out) {
    const float* const bias = has_bias ? numbers(find_, name + ".bias").data() + first : nullptr;
    add(into, find_(name + ".weight"), bias, in, first, out);
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
    } else if (const auto* const packed = std::get_if<Packed>(&v)) {
      add_packed(into, *packed, bias, columns, static_cast<int>(first), rows);
    } else if (const auto* const int8 = std::get_if<Int8>(&v)) {
      const auto some = int8->numbers.subspan(begin, out * in);
      const float* const scales = int8->scales.data() + first;
      drop(int8->file, std::as_bytes(some));  // as float32 below
      tasks_.push_back({PackedMatrix::bytes(rows, columns, Precision::int8),
                        [=, file = int8->file, &into](Memory m) {
                          into =
                              PackedMatrix(some.data(), scales, bias, rows, columns, std::move(m));
                          drop(file, std::as_bytes(some));
                        }});
    } else if (const auto* const halves = std::get_if<Float16>(&v)) {
      const auto some = halves->numbers.subspan(begin, out * in);
      const Precision precision =
          precision_ == Precision::int8 ? Precision::int8 : Precision::float16;
      tasks_.push_back({PackedMatrix::bytes(rows, columns, precision),
                        [=, file = halves->file, &into](Memory m) {
                          into = precision == Precision::float16
                                     ? PackedMatrix(some.data(), bias, rows, columns, std::move(m))
                                     : rounded(some.data(), bias, rows, columns, std::move(m));
                          drop(file, std::as_bytes(some));
                        }});
    } else {
      const Float32& float32 = std::get<Float32>(v);
      const auto some = float32.numbers.subspan(begin, out * in);
      // Before as well: what unpacked products have read shall not be there beside what is packed.
      drop(float32.file, std::as_bytes(some));
      tasks_.push_back({PackedMatrix::bytes(rows, columns, precision_),
                        [=, this, file = float32.file, &into](Memory m) {
                          into = PackedMatrix(some.data(), bias, rows, columns, precision_,
                                              std::move(m));
                          drop(file, std::as_bytes(some));
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
    const auto fits = [&](const model::SafeTensors* file, Precision stored) {
      can_leave_ &= file != nullptr && PackedMatrix::fits_unpacked(out, in, stored);
      return can_leave_;
    };
    const auto* const int8 = std::get_if<Int8>(&v);
    const auto* const float32 = std::get_if<Float32>(&v);
    if (int8 != nullptr && fits(int8->file, Precision::int8)) {
      into = PackedMatrix::unpacked({owner_, int8->numbers.data() + begin},
                                    int8->scales.data() + begin / in, bias, out, in);
      into.set_listener(listener_);
    } else if (float32 != nullptr && precision_ == Precision::float32 &&
               fits(float32->file, Precision::float32)) {
      into = PackedMatrix::unpacked({owner_, float32->numbers.data() + begin}, bias, out, in);
      into.set_listener(listener_);
    } else {
      can_leave_ = false;
    }
  }
  // In place, where the layout is that of the products.
  void add_packed(PackedMatrix& into, const Packed& v, const float* bias, int in, int first,
                  int out) {
    const Precision stored = v.precision;
    const bool stays =
        precision_ == stored || (stored == Precision::float16 && precision_ == Precision::float32);
    const std::byte* const at = v.panels.data() + PackedMatrix::bytes(first, in, stored);
    const bool is_aligned = reinterpret_cast<uintptr_t>(at) % kernels::kCacheLine == 0;
    if (stays && is_aligned && first % kernels::kPanel == 0) {
      into = PackedMatrix({owner_, at}, bias, out, in, stored);
      into.set_listener(listener_);
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
  PackedMatrix::Listener listener_;
  Aim aim_;
  bool can_leave_ = true;
  std::vector<Task> tasks_;
};

Weights::Weights(model::Config config, Find find, Precision precision,
                 std::shared_ptr<const void> owner, FileCheck check)
    : config_(std::move(config)),
      precision_(precision),
      find_(std::move(find)),
      check_(std::move(check)),
      owner_(std::move(owner)),
      output_(find_(model::output_embedding(config_)), output_bias(config_, find_),
              static_cast<int>(config_.output_vocabulary()), static_cast<int>(config_.width),
              precision, owner_, check_.read) {
  if (precision == Precision::float32 ||
      std::holds_alternative<Int8>(find_(model::output_embedding(config_)))) {
    Packer packer(find_, precision, owner_, check_.read, Packer::Aim::leave);
    bind(packer, unpacked_, output_.slot(false));
    if (packer.run()) return;
    unpacked_ = {};
  }
  pack();
}

void Weights::pack() const {
  std::call_once(packing_, [&] {
    Packer packer(find_, precision_, owner_, check_.read, Packer::Aim::pack);
    bind(packer, packed_, output_.slot(true));
    // Before packing drops the file's pages: checking them afterwards would bring them back.
    if (packer.has_tasks()) check_.result();
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
    packer.matrix(output_matrix, find_(output), output_.bias(), d, config.output_vocabulary());
  }
  for (const Side side : {Side::encoder, Side::decoder}) {
    if (side == Side::encoder ? !config.has_encoder() : !config.has_decoder()) continue;
    StackWeights& stack = side == Side::encoder ? stacks.encoder : stacks.decoder;
    const schemes::Stack shape = model::stack(config, side);
    const std::string table =
        side == Side::encoder ? model::source_embedding(config) : model::target_embedding(config);
    stack.embedding = table == output && !output_.has_screen()
                          ? EmbeddingTable(output_matrix, d)
                          : EmbeddingTable(find_(table), d, precision_);
    if (config.positions == model::Positions::learned)
      stack.positions = EmbeddingTable(find_(model::position_embedding(side)), d, precision_);
    stack.layers.resize(shape.layers);
    for (int l = 0; l < shape.layers; ++l) {
      LayerWeights& layer = stack.layers[l];
      const auto name = [&](int place, const char* matrix) {
        const int block = l * shape.blocks_per_layer + place;
        return fmt::format("{}.{}", model::block_name(config, side, block), matrix);
      };
      const auto pack = [&](PackedMatrix& into, int place, const char* matrix, int64_t in,
                            int64_t first, int64_t out) {
        packer.linear(into, name(place, matrix), config.biases, in, first, out);
      };
      const int last = shape.blocks_per_layer - 1;
      const int64_t kv = config.kv_width();
      pack(layer.self.qkv, 0, "qkv", d, 0, d + 2 * kv);
      pack(layer.self.output, 0, "output", d, 0, d);
      pack(layer.feed_forward.inner, last, "inner", d, 0, config.inner_rows());
      pack(layer.feed_forward.outer, last, "outer", config.inner, 0, d);
      if (shape.blocks_per_layer == 2) continue;
      pack(layer.cross.query, 1, "query", d, 0, d);
      pack(layer.cross.key, 1, "key_value", d, 0, kv);
      pack(layer.cross.value, 1, "key_value", d, kv, kv);
      pack(layer.cross.output, 1, "output", d, 0, d);
    }
    const std::string prefix = side == Side::encoder ? "encoder.residual." : "decoder.residual.";
    RowArithmetic arithmetic([&](const std::string& name) { return copied(prefix + name); },
                             config.norm_epsilon(), config.norm == model::Norm::rms);
    stack.scheme = schemes::make(arithmetic, shape, config.residual);
  }
  if (!config.has_bert_ends()) return;
  const auto norm = [&](const std::string& name) -> kernels::Norm {
    const bool is_rms = config.norm == model::Norm::rms;
    const double given = config.norm_epsilon();
    return {.weight = copied(name + ".weight").data(),
            .bias = is_rms ? nullptr : copied(name + ".bias").data(),
            .epsilon = static_cast<float>(given > 0 ? given : schemes::kNormEpsilon),
            .is_rms = is_rms};
  };
  stacks.ends.embedding_norm = norm(model::kEmbeddingNorm);
  stacks.ends.head_norm = norm(model::kHeadNorm);
  packer.linear(stacks.ends.head, model::kHead, config.biases, d, 0, d);
}

std::span<const float> Weights::copied(const std::string& name) const {
  const auto found = numbers(find_, name);
  return scheme_parameters_.emplace_back(found.begin(), found.end());
}

std::shared_ptr<const Weights> load_weights(std::shared_ptr<const model::Directory> directory,
                                            Precision precision, model::Kind kind) {
  const model::Config& config = directory->description().model;
  require(config.kind == kind, "{}: {}", directory->path().string(), commands_of(config.kind));
  const auto find = file_values(directory);
  // A copy of `find` keeps the file.
  return std::make_shared<Weights>(
      config, find, precision, std::make_shared<Weights::Find>(find),
      FileCheck{
          .result = [directory] { directory->check(); },
          .read =
              [directory](std::span<const std::byte> part) {
                directory->note_read({reinterpret_cast<const char*>(part.data()), part.size()});
              }});
}

std::shared_ptr<const Weights> copy_weights(
    const model::Config& config, const std::map<std::string, std::span<const float>>& parameters,
    Precision precision) {
  for (const auto& p : model::parameters(config)) {
    const auto given = parameters.find(p.name);
    require(given != parameters.end(), "no values for parameter {}", p.name);
    require(static_cast<int64_t>(given->second.size()) == p.size(),
            "parameter {} has {} values, expected {}", p.name, given->second.size(), p.size());
  }
  const auto embeddings = std::make_shared<std::map<std::string, std::vector<float>>>();
  for (const auto& name :
       {model::source_embedding(config), model::target_embedding(config),
        model::output_embedding(config), model::position_embedding(Side::encoder),
        model::position_embedding(Side::decoder)}) {
    const auto given = parameters.find(name);  // not all models have all
    if (given == parameters.end()) continue;
    embeddings->try_emplace(name, given->second.begin(), given->second.end());
  }
  const auto find = [&](const std::string& name) -> Values {
    if (const auto copy = embeddings->find(name); copy != embeddings->end()) {
      return Float32{.numbers = copy->second};
    }
    return Float32{.numbers = parameters.at(name)};
  };
  return std::make_shared<Weights>(config, find, precision, embeddings);
}

}  // namespace residual::decode
