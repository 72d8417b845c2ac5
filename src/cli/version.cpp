// residual --version

#include <fmt/format.h>
#include <spdlog/version.h>
#include <toml++/toml.h>
#include <unicode/uversion.h>
#include <xxhash.h>
#include <CLI/Version.hpp>

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "cli/command.h"

namespace residual::cli {
namespace {

std::string version_text() {
  return fmt::format("residual {} ({})\ncompiler: {}\ncpu features: {}\nlibraries: {}", version(),
                     commit(), compiler(), cpu_features(), library_versions());
}

}  // namespace

std::string library_versions() {
  return fmt::format(
      "CLI11 {}, fmt {}.{}.{}, ICU {}, nlohmann-json {}.{}.{}, spdlog {}.{}.{}, "
      "toml++ {}.{}.{}, xxHash {}.{}.{}",
      CLI11_VERSION, FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100, U_ICU_VERSION,
      NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH,
      SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH, TOML_LIB_MAJOR, TOML_LIB_MINOR,
      TOML_LIB_PATCH, XXH_VERSION_MAJOR, XXH_VERSION_MINOR, XXH_VERSION_RELEASE);
}

void add_version(CLI::App& root, const std::function<std::string()>& more) {
  root.set_version_flag(
          "--version", [more] { return version_text() + (more ? "\n" + more() : ""); },
          "version, commit, compiler, CPU, libraries")
      ->group("Options of every command");
}

}  // namespace residual::cli
