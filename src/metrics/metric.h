#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace residual::metrics {

// Lines are well-formed UTF-8 without '\n'. All metrics except multi-BLEU drop trailing white
// space, '\r' included, as sacreBLEU does when it reads files.
using Lines = std::vector<std::string>;
using References = std::vector<Lines>;  // [reference][line]; every one as long as the hypotheses

// The data that a score is computed from: one row of counts per sentence, whose sums give the
// corpus score. Resampling a test set means resampling rows.
class Statistics {
 public:
  Statistics(size_t rows, size_t width) : width_(width), values_(rows * width) {}
  size_t rows() const { return values_.size() / width_; }
  size_t width() const { return width_; }
  std::span<double> row(size_t i) { return {values_.data() + i * width_, width_}; }
  std::span<const double> row(size_t i) const { return {values_.data() + i * width_, width_}; }
  std::vector<double> sum() const;  // in order of rows

 private:
  size_t width_;
  std::vector<double> values_;
};

// The settings of a score, as sacreBLEU writes them: "nrefs:1|case:mixed|...|version:2.6.0".
class Signature {
 public:
  struct Field {
    std::string key, abbreviation, value;
  };
  explicit Signature(std::vector<Field> fields) : fields_(std::move(fields)) {}
  std::string text(bool abbreviated = false) const;
  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

// The resampling settings of a signature; 0 means none.
struct Trials {
  int64_t bootstrap = 0;
  int64_t randomisation = 0;
  uint64_t seed = 0;
};

class Metric {
 public:
  virtual ~Metric() = default;

  virtual std::string name() const = 0;  // "BLEU", "chrF2++"
  virtual Statistics statistics(std::span<const std::string> hypotheses,
                                const References& references) const = 0;
  virtual double score(std::span<const double> sums) const = 0;
  // Returns the score in single precision, the arithmetic of sacreBLEU's bootstrap.
  virtual double score(std::span<const float> sums) const = 0;
  // Returns whether the single-precision score is itself a float: NumPy then averages in floats.
  virtual bool scores_in_float() const { return true; }
  // Returns the text that follows the score in a report; it may be empty.
  virtual std::string details(std::span<const double> /*sums*/) const { return ""; }
  virtual Signature signature(size_t references, const Trials& trials = {}) const = 0;
};

// The version of sacreBLEU that these scores and signatures reproduce.
inline constexpr std::string_view kSacrebleuVersion = "2.6.0";

// Adds the fields that all metrics share to those of one metric.
Signature make_signature(size_t references, const Trials& trials,
                         std::vector<Signature::Field> fields);

// Throws an Error unless there is a reference and each has as many lines as the hypotheses.
void require_parallel(std::span<const std::string> hypotheses, const References& references);

}  // namespace residual::metrics
