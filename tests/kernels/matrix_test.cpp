#include "kernels/matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "support/each_target.h"

namespace residual::kernels {
namespace {

RESIDUAL_ON_EACH_TARGET(Matrix);

constexpr Precision kPrecisions[] = {Precision::float32, Precision::float16, Precision::int16,
                                     Precision::int8};

struct Problem {
  int out, in;
  int64_t rows;
  std::vector<float> weight = random_floats(int64_t{out} * in, 1);
  std::vector<float> bias = random_floats(out, 2);
  std::vector<float> x = random_floats(rows * in, 3);

  PackedMatrix pack(Precision precision) const {
    return {weight.data(), bias.data(), out, in, precision};
  }

  std::vector<float> multiply(const PackedMatrix& matrix,
                              Epilogue epilogue = Epilogue::none) const {
    std::vector<float> y(rows * out, 0.5F);
    matrix.multiply({.x = x.data(), .rows = rows, .y = y.data(), .epilogue = epilogue});
    return y;
  }

  std::vector<double> exact(Epilogue epilogue = Epilogue::none) const {
    std::vector<double> y(rows * out);
    for (int64_t r = 0; r < rows; ++r) {
      for (int o = 0; o < out; ++o) {
        double sum = bias[o];
        for (int i = 0; i < in; ++i) sum += double{x[r * in + i]} * weight[int64_t{o} * in + i];
        if (epilogue == Epilogue::relu) sum = std::max(sum, 0.0);
        y[r * out + o] = sum;
      }
    }
    return y;
  }
};

PackedMatrix unpacked_of(const Problem& problem, const std::vector<int8_t>& weight,
                         const std::vector<float>& scales) {
  return PackedMatrix::unpacked({std::shared_ptr<void>(), weight.data()}, scales.data(),
                                problem.bias.data(), problem.out, problem.in);
}

// Errors that rounding explains: of the sum, and of the stored weights and quantised rows.
double tolerance(Precision precision, int in) {
  const double root = std::sqrt(in);
  switch (precision) {
    case Precision::float32:
      return 1e-6 * (1 + root);
    case Precision::float16:
      return 1e-6 * (1 + root) + root * 0x1p-11;
    case Precision::int16:
      return 1e-6 * (1 + root) + root * 4 * 0x1p-16;
    case Precision::int8:
      return 1e-6 + root * 4.0 / 127;
  }
  return 0;
}

TEST_P(Matrix, AgreesWithTheDefinitionAtAllSizes) {
  for (const int size : kSizes) {
    for (const int64_t rows : {1, 2, 5, 13, 50}) {
      const Problem wide{size, 33, rows}, deep{65, size, rows};
      for (const Precision precision : kPrecisions) {
        SCOPED_TRACE(testing::Message() << "size " << size << " rows " << rows << " precision "
                                        << static_cast<int>(precision));
        expect_close(wide.multiply(wide.pack(precision)), wide.exact(), tolerance(precision, 33));
        expect_close(deep.multiply(deep.pack(precision)), deep.exact(), tolerance(precision, size));
      }
    }
  }
}

TEST_P(Matrix, TheEpilogueRectifies) {
  const Problem problem{130, 70, 14};
  for (const Precision precision : kPrecisions) {
    expect_close(problem.multiply(problem.pack(precision), Epilogue::relu),
                 problem.exact(Epilogue::relu), tolerance(precision, 70));
  }
}

// All columns, the second panel alone into rows of a matrix that begins there, and a row of W.
void expect_same_bits(const Problem& problem, const PackedMatrix& packed,
                      const PackedMatrix& unpacked) {
  SCOPED_TRACE(testing::Message() << problem.out << " x " << problem.in << " by " << problem.rows);
  for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
    ASSERT_EQ(problem.multiply(unpacked, epilogue), problem.multiply(packed, epilogue));
  }
  const int64_t columns = std::min(problem.out - kPanel, kPanel);
  std::vector<float> parts[2], rows[2];
  for (const PackedMatrix* matrix : {&packed, &unpacked}) {
    std::vector<float>& row = rows[matrix == &unpacked];
    row.resize(problem.in);
    matrix->copy_row(problem.out - 1, row.data());
    if (columns <= 0) continue;
    std::vector<float>& y = parts[matrix == &unpacked];
    y.assign(problem.rows * columns, 0.5F);
    matrix->multiply({.x = problem.x.data(),
                      .rows = problem.rows,
                      .y = y.data(),
                      .y_stride = columns,
                      .y_column = kPanel,
                      .first_panel = 1,
                      .last_panel = 2});
  }
  ASSERT_EQ(parts[1], parts[0]);
  ASSERT_EQ(rows[1], rows[0]);
}

TEST_P(Matrix, PassingOverZerosGivesTheSameBits) {
  for (const auto precision : kPrecisions) {
    for (const int in : {1, 15, 16, 17, 48, 529}) {
      for (const int64_t rows : {1, 2, 5, 6, 7}) {
        for (const int nth : {1, 2, 9, 1000}) {  // input that is not zero, in some row
          Problem problem{130, in, rows};
          for (int64_t i = 0; i < rows * in; ++i) {
            if (i % nth != 0) problem.x[i] = i % 2 == 0 ? 0.0F : -0.0F;
          }
          const auto matrix = problem.pack(precision);
          std::vector<float> y(rows * 130);
          matrix.multiply({.x = problem.x.data(), .rows = rows, .y = y.data(), .is_sparse = true});
          EXPECT_EQ(y, problem.multiply(matrix)) << in << " " << rows << " " << nth;
        }
      }
    }
  }
}

TEST_P(Matrix, PassingOverZerosKeepsWhatIsNotANumber) {
  for (const int at : {0, 20, 32}) {
    Problem problem{64, 33, 5};
    std::ranges::fill(problem.x, 0.0F);
    problem.x[33 + at] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> y(5 * 64);
    const auto matrix = problem.pack(Precision::float32);
    matrix.multiply({.x = problem.x.data(), .rows = 5, .y = y.data(), .is_sparse = true});
    EXPECT_EQ(y[0], problem.bias[0]);
    EXPECT_TRUE(std::isnan(y[64]));
  }
}

TEST_P(Matrix, UnpackedWeightsGiveTheSameBits) {
  for (const int out : {16, 17, 64, 65, 79, 80, 130}) {
    for (const int in : {16, 48, 528}) {
      for (const int64_t rows : {1, 2, 5, 6, 7, 13, 24}) {
        const Problem problem{out, in, rows};
        const auto unpacked = PackedMatrix::unpacked(
            {std::shared_ptr<void>(), problem.weight.data()}, problem.bias.data(), out, in);
        expect_same_bits(problem, problem.pack(Precision::float32), unpacked);
      }
    }
  }
  EXPECT_FALSE(PackedMatrix::fits_unpacked(15, 16));
  EXPECT_FALSE(PackedMatrix::fits_unpacked(16, 24));
}

TEST_P(Matrix, UnpackedInt8WeightsGiveTheSameBitsWhereTheyFit) {
  for (const int out : {16, 17, 64, 65, 79, 80, 150}) {
    for (const int in : {64, 192, 576}) {
      for (const int64_t rows : {1, 2, 5, 7, 8, 9, 24}) {
        const Problem problem{out, in, rows};
        std::vector<int8_t> weight(problem.weight.size());
        std::vector<float> scales(out);
        quantize(problem.weight.data(), out, in, weight.data(), scales.data());
        if (!PackedMatrix::fits_unpacked(out, in, Precision::int8)) {  // this CPU has no VNNI
          ASSERT_THROW(unpacked_of(problem, weight, scales), Error);
          continue;
        }
        expect_same_bits(problem, problem.pack(Precision::int8),
                         unpacked_of(problem, weight, scales));
      }
    }
  }
  EXPECT_FALSE(PackedMatrix::fits_unpacked(15, 64, Precision::int8));
  EXPECT_FALSE(PackedMatrix::fits_unpacked(16, 48, Precision::int8));
}

TEST_P(Matrix, ListenersHearOfThePanelsThatWereRead) {
  const Problem problem{130, 64, 2};
  for (PackedMatrix matrix :
       {PackedMatrix::unpacked({std::shared_ptr<void>(), problem.weight.data()},
                               problem.bias.data(), problem.out, problem.in),
        problem.pack(Precision::float32), problem.pack(Precision::int16)}) {
    std::vector<std::span<const std::byte>> read;
    matrix.set_listener([&](std::span<const std::byte> part) { read.push_back(part); });
    std::vector<float> y(problem.rows * problem.out);
    matrix.multiply({.x = problem.x.data(), .rows = problem.rows, .y = y.data(), .last_panel = 2});
    matrix.multiply({.x = problem.x.data(), .rows = problem.rows, .y = y.data(), .first_panel = 2});
    ASSERT_EQ(read.size(), 2);
    EXPECT_EQ(read[0].data(), matrix.weights().data());
    EXPECT_EQ(read[0].size(), PackedMatrix::bytes(128, problem.in, matrix.precision()));
    EXPECT_EQ(read[1].data(), read[0].data() + read[0].size());
    EXPECT_EQ(read[0].size() + read[1].size(), matrix.weights().size());
  }
}

TEST_P(Matrix, SomeColumnsAreThoseOfAll) {
  const Problem problem{300, 48, 1};
  const PackedMatrix packed = problem.pack(Precision::float32);
  const auto unpacked = PackedMatrix::unpacked({std::shared_ptr<void>(), problem.weight.data()},
                                               problem.bias.data(), problem.out, problem.in);
  const std::vector<float> all = problem.multiply(packed);
  for (const int count : {0, 1, 15, 16, 17, 64, 65, 129}) {
    std::vector<int32_t> columns(count);
    for (int i = 0; i < count; ++i) columns[i] = (i * 37 + 299) % 300;
    for (const PackedMatrix* matrix : {&packed, &unpacked}) {
      std::vector<float> some(count + 1, 0.5F);
      matrix->multiply_some(problem.x.data(), columns, some.data());
      for (int i = 0; i < count; ++i) ASSERT_EQ(some[i], all[columns[i]]) << count << ' ' << i;
      ASSERT_EQ(some[count], 0.5F);
    }
  }
  const Problem odd{300, 50, 1};
  float y = 0;
  const int32_t column = 0;
  EXPECT_THROW(odd.pack(Precision::float32).multiply_some(odd.x.data(), {&column, 1}, &y), Error);
}

TEST_P(Matrix, SelectedRowsAreThoseOfAll) {
  for (const int in : {1, 50, 64, 192}) {
    const Problem problem{150, in, 7};
    std::vector<PackedMatrix> matrices;
    for (const Precision precision : kPrecisions) matrices.push_back(problem.pack(precision));
    std::vector<int8_t> weight(problem.weight.size());
    std::vector<float> scales(problem.out);
    quantize(problem.weight.data(), problem.out, in, weight.data(), scales.data());
    if (PackedMatrix::fits_unpacked(problem.out, in, Precision::int8)) {
      matrices.push_back(unpacked_of(problem, weight, scales));
    }
    if (PackedMatrix::fits_unpacked(problem.out, in)) {
      matrices.push_back(PackedMatrix::unpacked({std::shared_ptr<void>(), problem.weight.data()},
                                                problem.bias.data(), problem.out, in));
    }
    for (const auto& matrix : matrices) {
      const std::vector<float> all = problem.multiply(matrix);
      for (const int count : {1, 63, 64, 65, 150}) {
        std::vector<int32_t> rows(count);
        for (int i = 0; i < count; ++i) rows[i] = (i * 37 + 149) % problem.out;
        const PackedMatrix some = matrix.selected(rows);
        std::vector<float> y(problem.rows * count, 0.5F);
        some.multiply({.x = problem.x.data(), .rows = problem.rows, .y = y.data()});
        for (int64_t r = 0; r < problem.rows; ++r) {
          for (int i = 0; i < count; ++i) {
            ASSERT_EQ(y[r * count + i], all[r * problem.out + rows[i]]) << in << ' ' << count;
          }
        }
      }
    }
  }
}

TEST_P(Matrix, ARowDoesNotDependOnTheOthers) {
  const Problem all{200, 1000, 53};
  for (const Precision precision : kPrecisions) {
    const PackedMatrix matrix = all.pack(precision);
    for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
      const std::vector<float> together = all.multiply(matrix, epilogue);
      for (int64_t count = 1; count <= 26; ++count) {
        const int64_t first = all.rows - count;
        std::vector<float> y(count * all.out, 0.5F);
        matrix.multiply({.x = all.x.data() + first * all.in,
                         .rows = count,
                         .y = y.data(),
                         .epilogue = epilogue});
        ASSERT_TRUE(std::equal(y.begin(), y.end(), together.begin() + first * all.out))
            << count << " rows, precision " << static_cast<int>(precision);
      }
    }
  }
}

// Rows of x go by blocks that fit a cache: with so many inputs, or rows, there are several.
TEST_P(Matrix, ARowDoesNotDependOnItsBlock) {
  const std::pair<Problem, std::vector<int64_t>> cases[] = {
      {{65, 9000, 45}, {0, 5, 6, 20, 21, 41, 42, 44}},
      {{130, 1000, 230}, {0, 95, 96, 97, 191, 192, 229}}};
  for (const auto& [all, some] : cases) {
    for (const Precision precision : kPrecisions) {
      const PackedMatrix matrix = all.pack(precision);
      const std::vector<float> together = all.multiply(matrix);
      for (const int64_t row : some) {
        std::vector<float> y(all.out);
        matrix.multiply({.x = all.x.data() + row * all.in, .rows = 1, .y = y.data()});
        ASSERT_TRUE(std::equal(y.begin(), y.end(), together.begin() + row * all.out))
            << "row " << row << " of " << all.rows << ", precision " << static_cast<int>(precision);
      }
    }
  }
}

TEST_P(Matrix, PanelsByTwoThreadsAreThePanelsOfOne) {
  const Problem problem{300, 70, 50};
  for (const Precision precision : kPrecisions) {
    const PackedMatrix matrix = problem.pack(precision);
    std::vector<float> y(problem.rows * problem.out);
    const auto part = [&](int first, int last) {
      matrix.multiply({.x = problem.x.data(),
                       .rows = problem.rows,
                       .y = y.data(),
                       .first_panel = first,
                       .last_panel = last});
    };
    std::thread other(part, 0, 2);
    part(2, matrix.panels());
    other.join();
    EXPECT_EQ(y, problem.multiply(matrix));
  }
}

TEST_P(Matrix, YMayBeginWithAnyPanel) {
  const Problem problem{300, 70, 50};
  for (const Precision precision : kPrecisions) {
    const PackedMatrix matrix = problem.pack(precision);
    const std::vector<float> whole = problem.multiply(matrix);
    constexpr int64_t kFrom = 3 * kPanel, kWidth = 300 - kFrom;
    std::vector<float> y(problem.rows * kWidth);
    matrix.multiply({.x = problem.x.data(),
                     .rows = problem.rows,
                     .y = y.data(),
                     .y_stride = kWidth,
                     .y_column = kFrom,
                     .first_panel = 3});
    for (int64_t r = 0; r < problem.rows; ++r) {
      const auto want = whole.begin() + r * 300 + kFrom;
      EXPECT_TRUE(std::equal(want, want + kWidth, y.begin() + r * kWidth)) << r;
    }
  }
}

TEST_P(Matrix, StridesReachIntoWiderRows) {
  const Problem problem{70, 40, 50};
  const PackedMatrix matrix = problem.pack(Precision::float32);
  std::vector<float> x(problem.rows * 50), y(problem.rows * 100, -7.0F);
  for (int64_t r = 0; r < problem.rows; ++r) {
    std::copy_n(problem.x.begin() + r * 40, 40, x.begin() + r * 50);
  }
  matrix.multiply(
      {.x = x.data(), .rows = problem.rows, .y = y.data(), .x_stride = 50, .y_stride = 100});
  const std::vector<float> want = problem.multiply(matrix);
  for (int64_t r = 0; r < problem.rows; ++r) {
    EXPECT_TRUE(
        std::equal(want.begin() + r * 70, want.begin() + (r + 1) * 70, y.begin() + r * 100));
    EXPECT_EQ(std::count(y.begin() + r * 100 + 70, y.begin() + (r + 1) * 100, -7.0F), 30);
  }
}

// ------------------------------------------------------------------ int8

TEST_P(Matrix, Int8SumsAreThoseOfAnIntegerLoop) {
  constexpr int kOut = 67;
  for (const int in : {1, 2, 3, 5, 64, 257, 4101}) {
    std::vector<int8_t> weight(int64_t{kOut} * in);
    const Random random(5);
    for (size_t i = 0; i < weight.size(); ++i) {
      weight[i] = static_cast<int8_t>(static_cast<int>(random.below(i, 256)) - 128);
    }
    std::fill_n(weight.begin(), in, int8_t{-128});
    std::fill_n(weight.begin() + in, in, int8_t{127});
    // Whole numbers up to 127: they are their own quantisation, with scale 1.
    constexpr int64_t kRows = 26;
    std::vector<float> x(kRows * in);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(static_cast<int>(random.below(i + weight.size(), 255)) - 127);
    }
    std::fill_n(x.begin(), in, 127.0F);
    std::fill_n(x.begin() + in, in, -127.0F);
    for (int64_t i = 2 * in; i < 3 * in; ++i) x[i] = i % 2 == 0 ? 127 : -127;
    for (int64_t i = 3 * in; i < 4 * in; ++i) x[i] = 64;
    for (int64_t r = 2; r < kRows; ++r) x[r * in] = 127;
    const std::vector<float> scales(kOut, 1.0F);
    const PackedMatrix matrix(weight.data(), scales.data(), nullptr, kOut, in);
    std::vector<float> y(kRows * kOut);
    matrix.multiply({.x = x.data(), .rows = kRows, .y = y.data()});
    for (int64_t r = 0; r < kRows; ++r) {
      for (int o = 0; o < kOut; ++o) {
        int32_t sum = 0;
        for (int i = 0; i < in; ++i) sum += static_cast<int>(x[r * in + i]) * weight[o * in + i];
        ASSERT_EQ(y[r * kOut + o], static_cast<float>(sum)) << "in " << in << " row " << r;
      }
    }
  }
}

TEST_P(Matrix, Int8AgreesWithTheOtherInstructionSetsToTheLastBit) {
  static std::map<std::string, std::vector<float>> results;
  const Problem problem{130, 257, 30};
  const std::vector<float> y = problem.multiply(problem.pack(Precision::int8));
  EXPECT_EQ(results.try_emplace("first", y).first->second, y);
}

TEST_P(Matrix, Int8WeightsOfAFileAreThoseQuantisedHere) {
  const Problem problem{130, 71, 3};
  std::vector<int8_t> weight(problem.weight.size());
  std::vector<float> scales(problem.out);
  quantize(problem.weight.data(), problem.out, problem.in, weight.data(), scales.data());
  const PackedMatrix matrix(weight.data(), scales.data(), problem.bias.data(), 130, 71);
  EXPECT_EQ(problem.multiply(matrix), problem.multiply(problem.pack(Precision::int8)));
}

// What multiplying by the unit vectors gives: no product rounds.
TEST_P(Matrix, RowsAreThoseThatAreMultiplied) {
  Problem problem{70, 21, 21};
  std::fill(problem.bias.begin(), problem.bias.end(), 0.0F);
  std::fill(problem.x.begin(), problem.x.end(), 0.0F);
  for (int i = 0; i < 21; ++i) problem.x[i * 21 + i] = 1;
  for (const Precision precision : {Precision::float32, Precision::float16}) {
    const PackedMatrix matrix = problem.pack(precision);
    const std::vector<float> columns = problem.multiply(matrix);
    std::vector<float> row(21);
    for (int o = 0; o < 70; ++o) {
      matrix.copy_row(o, row.data());
      for (int i = 0; i < 21; ++i) ASSERT_EQ(row[i], columns[i * 70 + o]) << o << ' ' << i;
    }
  }
  const PackedMatrix matrix = problem.pack(Precision::int8);
  std::vector<int8_t> weight(problem.weight.size());
  std::vector<float> scales(70), row(21);
  quantize(problem.weight.data(), 70, 21, weight.data(), scales.data());
  for (int o = 0; o < 70; ++o) {
    matrix.copy_row(o, row.data());
    for (int i = 0; i < 21; ++i) {
      ASSERT_EQ(row[i], scales[o] * static_cast<float>(weight[o * 21 + i])) << o << ' ' << i;
    }
  }
}

// Numbers of every exponent that float16 has, and below.
TEST_P(Matrix, Float16IsTheNearest) {
  constexpr int kOut = 3, kIn = 9000;
  std::vector<float> weight = random_floats(kOut * kIn, 5);
  for (int i = 0; i < kOut * kIn; ++i) weight[i] = std::ldexp(weight[i], i % 41 - 27);
  std::vector<uint16_t> halves(weight.size());
  halve(weight.data(), kOut, kIn, halves.data());
  std::vector<float> wide(weight.size());
  widen(halves.data(), kOut * kIn, wide.data());
  for (int i = 0; i < kOut * kIn; ++i) {
    const double error = std::fabs(double{wide[i]} - weight[i]);
    const int exponent = std::max(std::ilogb(weight[i]), -14);  // below are subnormals
    ASSERT_LE(error, std::ldexp(0.5, exponent - 10)) << weight[i] << ' ' << wide[i];
    ASSERT_EQ(std::signbit(wide[i]), std::signbit(weight[i]));
  }
  const PackedMatrix rounded(weight.data(), nullptr, kOut, kIn, Precision::float16);
  const PackedMatrix stored(halves.data(), nullptr, kOut, kIn);
  EXPECT_TRUE(std::ranges::equal(rounded.packed(), stored.packed()));
  std::vector<float> row(kIn);
  for (int o = 0; o < kOut; ++o) {
    stored.copy_row(o, row.data());
    ASSERT_TRUE(std::equal(row.begin(), row.end(), wide.begin() + o * kIn));
  }
}

TEST_P(Matrix, RowsOfZerosGiveTheBias) {
  Problem problem{70, 40, 2};
  std::fill_n(problem.x.begin(), 40, 0.0F);
  std::fill_n(problem.x.begin() + 40, 40, 1e-40F);
  for (const Precision precision : kPrecisions) {
    const std::vector<float> y = problem.multiply(problem.pack(precision));
    for (int o = 0; o < problem.out; ++o) {
      EXPECT_EQ(y[o], problem.bias[o]);
      EXPECT_FLOAT_EQ(y[70 + o], problem.bias[o]);
    }
  }
}

TEST_P(Matrix, NotANumberSpoilsItsRowAndNoOther) {
  const Problem clean{70, 40, 20};
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const int place : {0, 39}) {
      Problem problem = clean;
      problem.x[13 * 40 + place] = bad;
      for (const Precision precision : kPrecisions) {
        for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
          const std::vector<float> y = problem.multiply(problem.pack(precision), epilogue);
          const std::vector<float> want = clean.multiply(clean.pack(precision), epilogue);
          for (int64_t i = 0; i < problem.rows * problem.out; ++i) {
            if (i / problem.out != 13) {
              ASSERT_EQ(y[i], want[i]);
            } else if (std::isnan(bad)) {
              ASSERT_TRUE(std::isnan(y[i]));
            }
          }
        }
      }
    }
  }
}

// ------------------------------------------------------------------ without vectors

TEST(Quantize, UsesTheWholeRangeOfEveryOutput) {
  const std::vector<float> weight = {0.5F, -2.0F, 1.0F, 0.0F, 0.0F, 0.0F};
  std::vector<int8_t> q(6);
  std::vector<float> scales(2);
  quantize(weight.data(), 2, 3, q.data(), scales.data());
  EXPECT_EQ(q, (std::vector<int8_t>{32, -127, 64, 0, 0, 0}));
  EXPECT_FLOAT_EQ(scales[0], 2.0F / 127);
  EXPECT_EQ(scales[1], 0);
}

TEST(Quantize, RefusesWeightsThatAreNotFinite) {
  const std::vector<float> weight = {0.5F, std::numeric_limits<float>::infinity()};
  std::vector<int8_t> q(2);
  std::vector<float> scales(1);
  EXPECT_THROW(quantize(weight.data(), 1, 2, q.data(), scales.data()), Error);
}

TEST(PackedMatrix, RefusesWhatItCannotHold) {
  const std::vector<float> weight(1, 1e6F);
  EXPECT_THROW(PackedMatrix(weight.data(), nullptr, 1, 1, Precision::float16), Error);
  EXPECT_THROW(PackedMatrix(weight.data(), nullptr, 0, 1, Precision::float32), Error);
}

// Each of these is exact in half precision, down to its smallest subnormal.
TEST(PackedMatrix, Float16KeepsWhatHalfPrecisionCanHold) {
  const std::vector<float> weight = {1,        -2.5F,     65472,      0x1p-14F, 0x1.ff8p-15F,
                                     0x1p-24F, -0x1p-24F, 0x1.004p0F, 0};
  const auto count = static_cast<int>(weight.size());
  const PackedMatrix matrix(weight.data(), nullptr, count, 1, Precision::float16);
  std::vector<float> y(count);
  const float one = 1;
  matrix.multiply({.x = &one, .rows = 1, .y = y.data()});
  EXPECT_EQ(y, weight);
}

TEST(Halves, AreWidenedToWhatTheyMean) {
  EXPECT_EQ(widened(0x3C00), 1);
  EXPECT_EQ(widened(0xC100), -2.5F);
  EXPECT_EQ(widened(0x8001), -0x1p-24F);
  EXPECT_EQ(widened(0x7C00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(widened(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(widened(0x7E00)));
}

// 1 + 2^-11 lies between two halves: to the even one. A little more goes up.
TEST(PackedMatrix, Float16RoundsToNearestEven) {
  const std::vector<float> weight = {0x1.002p0F, 0x1.002002p0F, 0x1.006p0F, 0x1.8p-25F};
  const PackedMatrix matrix(weight.data(), nullptr, 4, 1, Precision::float16);
  std::vector<float> y(4);
  const float one = 1;
  matrix.multiply({.x = &one, .rows = 1, .y = y.data()});
  EXPECT_EQ(y, (std::vector<float>{1, 0x1.004p0F, 0x1.008p0F, 0x1p-24F}));
}

}  // namespace
}  // namespace residual::kernels
