#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/rows.h"
#include "schemes/scheme.h"

// The arithmetic on which residual schemes decode: rows of floats in buffers that are used again
// as soon as nobody holds them, so that the few a stack needs stay in the cache.
namespace residual::decode {

class RowPool;

// A matrix [rows, width] in a buffer of a pool; copies share it. Like its pool, it belongs to one
// thread.
class Rows {
 public:
  Rows() = default;
  Rows(const Rows& other) : buffer_(other.buffer_) { hold(); }
  Rows(Rows&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  Rows& operator=(Rows other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~Rows() { release(); }

  float* data() const { return buffer_->data.get(); }
  int64_t rows() const { return buffer_->rows; }
  int64_t width() const;
  int64_t size() const { return rows() * width(); }
  bool is_shared() const { return buffer_->holders > 1; }
  Rows like() const;  // another matrix of this shape, contents undefined

 private:
  friend class RowPool;
  struct Buffer {
    RowPool* pool;
    std::unique_ptr<float[]> data;
    int64_t capacity = 0;
    int64_t rows = 0;
    int holders = 0;
  };
  explicit Rows(Buffer* buffer) : buffer_(buffer) { hold(); }
  void hold() const {
    if (buffer_ != nullptr) ++buffer_->holders;
  }
  void release();

  Buffer* buffer_ = nullptr;
};

// Must outlive the matrices it gave.
class RowPool {
 public:
  explicit RowPool(int64_t width) : width_(width) {}
  RowPool(const RowPool&) = delete;
  RowPool& operator=(const RowPool&) = delete;

  Rows take(int64_t rows);
  int64_t width() const { return width_; }

 private:
  friend class Rows;
  int64_t width_;
  std::vector<std::unique_ptr<Rows::Buffer>> all_;
  std::vector<Rows::Buffer*> free_;  // the one used last is taken first
};

inline int64_t Rows::width() const { return buffer_->pool->width(); }
inline Rows Rows::like() const { return buffer_->pool->take(rows()); }
inline void Rows::release() {
  if (buffer_ != nullptr && --buffer_->holders == 0) buffer_->pool->free_.push_back(buffer_);
}

// A schemes::Arithmetic. Parameters are found by their name within the stack;
// they must outlive the scheme.
class RowArithmetic {
 public:
  using Tensor = Rows;
  using Find = std::function<std::span<const float>(const std::string& name)>;

  struct Vector {
    const float* values;
  };
  struct Scalar {
    float value;
  };
  struct Vectors {
    const float* values;  // [count, width]
    int count;
  };
  struct Numbers {
    std::span<const float> values;
  };
  // [rows, columns]; one row: the same for all.
  struct Gates {
    int columns = 0;
    std::vector<float> values;

    int64_t rows() const { return static_cast<int64_t>(values.size()) / columns; }
    float at(int64_t row, int column) const {
      return values[(rows() == 1 ? 0 : row * columns) + column];
    }
  };
  class Norm {
   public:
    explicit Norm(const kernels::Norm& norm) : norm_(norm) {}

    Rows operator()(const Rows& x) const;
    // f's buffer becomes the result's if nobody else holds it; so does d's.
    Rows add(const Rows& x, Rows f) const;
    std::tuple<Rows, Rows> add_both(const Rows& x, Rows d, Rows f, double eta) const;

   private:
    kernels::Norm norm_;
  };

  // `epsilon` is that of all norms; 0: as the scheme says.
  explicit RowArithmetic(Find find, double epsilon = 0, bool has_rms_norms = false)
      : find_(std::move(find)), epsilon_(epsilon), has_rms_norms_(has_rms_norms) {}

  Norm norm(const std::string& name, double epsilon) {
    return Norm({.weight = find_(name + ".weight").data(),
                 .bias = has_rms_norms_ ? nullptr : find_(name + ".bias").data(),
                 .epsilon = static_cast<float>(epsilon_ > 0 ? epsilon_ : epsilon),
                 .is_rms = has_rms_norms_});
  }
  Vector vector(const std::string& name, double /*value*/) { return {find_(name).data()}; }
  Scalar scalar(const std::string& name, double /*value*/) { return {find_(name)[0]}; }
  Vectors vectors(const std::string& name, int count, double /*value*/) {
    return {find_(name).data(), count};
  }
  Numbers numbers(const std::string& name, int /*count*/, double /*value*/) {
    return {find_(name)};
  }

 private:
  Find find_;
  double epsilon_;
  bool has_rms_norms_;
};

Rows add(const Rows& x, Rows f);
Rows add(const Rows& x, double c, Rows f);
Rows add(const Rows& x, RowArithmetic::Scalar c, Rows f);
Rows scale(const Rows& x, double c);
Rows scale(RowArithmetic::Scalar c, const Rows& x);
Rows scale(RowArithmetic::Vector w, const Rows& x);
// A row's gates are computed from that row alone, in the same order in every batch.
RowArithmetic::Gates dots(RowArithmetic::Vectors w, const Rows& x);
RowArithmetic::Gates constant(RowArithmetic::Numbers b, const std::vector<double>& start);
RowArithmetic::Gates add(const RowArithmetic::Gates& g, const RowArithmetic::Gates& h);
RowArithmetic::Gates scale(RowArithmetic::Scalar c, RowArithmetic::Gates g);
RowArithmetic::Gates over_rms(RowArithmetic::Gates g, const std::vector<Rows>& streams,
                              double epsilon);
RowArithmetic::Gates columns(const RowArithmetic::Gates& g, int first, int count);
RowArithmetic::Gates join(const std::vector<RowArithmetic::Gates>& parts);
RowArithmetic::Gates tanh(RowArithmetic::Gates g);
RowArithmetic::Gates sigmoid(RowArithmetic::Gates g, double c);
RowArithmetic::Gates softmax(RowArithmetic::Gates g);
RowArithmetic::Gates sinkhorn(RowArithmetic::Gates g, int rounds);
Rows add(const Rows& x, const RowArithmetic::Gates& g, int column, Rows f);
Rows mix(const RowArithmetic::Gates& g, int first, int stride, const std::vector<Rows>& streams);
// Only calibration before training calls these.
double variance(const Rows& x);
void assign(RowArithmetic::Vector w, double c);

static_assert(schemes::GatedArithmetic<RowArithmetic>);

}  // namespace residual::decode
