#include "run/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

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
  try {
    place_of(variables);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

void expect_place(const Variables& variables, int rank, int size, const std::string& host, int port,
                  const std::string& job) {
  const Place got = place_of(variables);
  EXPECT_EQ(got.rank, rank);
  EXPECT_EQ(got.size, size);
  EXPECT_EQ(got.host, host);
  EXPECT_EQ(got.port, port);
  EXPECT_EQ(got.job, job);
}

TEST(Place, IsThatOfTorchrun) {
  expect_place({{"RANK", "1"},
                {"WORLD_SIZE", "4"},
                {"MASTER_ADDR", "10.0.0.7"},
                {"MASTER_PORT", "4711"},
                {"TORCHELASTIC_RUN_ID", "abc"}},
               1, 4, "10.0.0.7", 4711, "abc");
}

TEST(Place, IsBesideTorchrunsOwnServer) {
  Variables variables = {{"RANK", "1"},
                         {"WORLD_SIZE", "4"},
                         {"MASTER_ADDR", "a"},
                         {"MASTER_PORT", "4711"},
                         {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  EXPECT_EQ(place_of(variables).port, 4712);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  EXPECT_EQ(place_of(variables).port, 4711);
}

TEST(Place, IsThatOfOpenMpi) {
  expect_place({{"OMPI_COMM_WORLD_RANK", "0"},
                {"OMPI_COMM_WORLD_SIZE", "2"},
                {"PMIX_NAMESPACE", "prterun-1"},
                {"MASTER_ADDR", "a"}},
               0, 2, "a", 29500, "prterun-1");
}

TEST(Place, IsThatOfMpich) {
  expect_place({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MASTER_ADDR", "a"}}, 3, 4, "a", 29500, "");
}

TEST(Place, IsThatOfSlurm) {
  const Variables slurm = {{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "3"}, {"SLURM_JOB_ID", "17"}};
  const std::map<std::string, std::string> first_nodes = {{"n7", "n7"},
                                                          {"n[003-007,12],m[1-2]", "n003"},
                                                          {"n[3,5]", "n3"},
                                                          {"alpha,beta", "alpha"},
                                                          {"rack1-node[09]", "rack1-node09"}};
  for (const auto& [nodes, first] : first_nodes) {
    Variables variables = slurm;
    variables["SLURM_STEP_NODELIST"] = nodes;
    expect_place(variables, 2, 3, first, 29500, "17");
  }
  Variables given = slurm;
  given["SLURM_STEP_NODELIST"] = "n[1-3]";
  given["MASTER_ADDR"] = "other";
  expect_place(given, 2, 3, "other", 29500, "17");
}

TEST(Place, OneProcessNeedsNoAddress) {
  EXPECT_EQ(place_of({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).size, 1);
}

TEST(Place, SaysWhatIsMissingOrWrong) {
  EXPECT_THAT(error_of({}), HasSubstr("Start with torchrun, mpirun or srun, or set RANK"));
  EXPECT_THAT(error_of({{"RANK", "0"}}), HasSubstr("WORLD_SIZE is not set, but RANK is"));
  EXPECT_THAT(error_of({{"PMI_SIZE", "2"}}), HasSubstr("PMI_RANK is not set, but PMI_SIZE is"));
  EXPECT_THAT(error_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), HasSubstr("set MASTER_ADDR"));
  EXPECT_THAT(error_of({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
              HasSubstr("RANK: expected a number from 0 to 1, got \"2\""));
  EXPECT_THAT(error_of({{"RANK", "0"}, {"WORLD_SIZE", "two"}}), HasSubstr("got \"two\""));
  EXPECT_THAT(
      error_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "0"}}),
      HasSubstr("MASTER_PORT: expected a number from 1 to 65534"));
}

}  // namespace
}  // namespace residual::run
