#include "run/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "support/error_of.h"

namespace residual::run {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Place place_of(const Variables& variables) {
  return place_from([&](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  });
}

std::string error_of(const Variables& variables) {
  return residual::test::error_of([&] { place_of(variables); });
}

void expect_place(const Variables& variables, int rank, int size) {
  const Place got = place_of(variables);
  EXPECT_EQ(got.rank, rank);
  EXPECT_EQ(got.size, size);
}

TEST(Place, IsThatOfTheLauncher) {
  expect_place({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}, 0, 2);
  expect_place({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}, 3, 4);
  expect_place({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "3"}}, 2, 3);
}

TEST(Place, IsThatOfMpirunInsideAJobOfSlurm) {
  expect_place({{"SLURM_PROCID", "0"},
                {"SLURM_NTASKS", "1"},
                {"OMPI_COMM_WORLD_RANK", "1"},
                {"OMPI_COMM_WORLD_SIZE", "8"}},
               1, 8);
}

TEST(Place, SaysWhatIsMissingOrWrong) {
  EXPECT_THAT(error_of({}), HasSubstr("no MPI launcher started this process"));
  EXPECT_THAT(error_of({{"PMI_SIZE", "2"}}), HasSubstr("PMI_RANK is not set, but PMI_SIZE is"));
  EXPECT_THAT(error_of({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}),
              HasSubstr("PMI_RANK: expected a number from 0 to 1, got \"2\""));
  EXPECT_THAT(error_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "two"}}), HasSubstr("got \"two\""));
}

}  // namespace
}  // namespace residual::run
