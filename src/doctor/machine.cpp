#include <fmt/format.h>
#include <langinfo.h>
#include <sys/resource.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/parallel.h"
#include "base/version.h"
#include "doctor/check.h"
#include "kernels/instruction_set.h"
#include "run/memory.h"

namespace residual::doctor {
namespace {

constexpr double kGigabyte = 1e9;

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "CPU";
}

Check check_cpu() {
  const std::string set = kernels::instruction_set();
  Check check{.name = "cpu",
              .found = fmt::format("{}; has {}; kernels use {}", cpu_name(), cpu_features(), set)};
  if (set == "EMU128" || set.starts_with("SSE")) {
    check.status = Status::note;
    check.fix = "products are several times faster on a CPU with AVX2 or AVX-512";
  }
  return check;
}

Check check_cores() {
  const auto online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const int usable = available_cores();
  Check check{.name = "cores",
              .found = fmt::format("{} of {} usable by this process", usable, online),
              .figures = {{"online", online}, {"usable", usable}}};
  if (usable < online) {
    check.status = Status::note;
    check.fix =
        "CPU affinity (taskset -p $$) or the control group (/sys/fs/cgroup/cpu.max) "
        "limits the cores; more --threads than usable cores do not help";
  }
  return check;
}

Check check_memory() {
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  const double machine = pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / kGigabyte;
  double free = static_cast<double>(run::available_memory()) / kGigabyte;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    free = std::min(free, static_cast<double>(limit.rlim_cur) / kGigabyte);
  }
  Check check{.name = "memory",
              .found = fmt::format("{:.1f} GB free for this process, of {:.1f} GB", free, machine),
              .figures = {{"free_gb", free}, {"machine_gb", machine}}};
  if (free < 2) {
    check.status = Status::note;
    check.fix =
        "training needs about 2 GB for the recipes' base size: close other programs, or "
        "raise the limit (ulimit -v, memory.max); `residual train RECIPE --check` estimates the "
        "need";
  }
  return check;
}

Check check_directory(const std::string& name, const fs::path& directory, const std::string& fix) {
  return guarded(name, fix, [&] {
    require(fs::is_directory(directory), "{}: no such directory", directory.string());
    require_writable(directory);
    const double free = static_cast<double>(fs::space(directory).available) / kGigabyte;
    Check check{
        .name = name,
        .found = fmt::format("{} can be written to, {:.1f} GB free", directory.string(), free),
        .figures = {{"free_gb", free}}};
    if (free < 1) {
      check.status = Status::note;
      check.fix = "less than 1 GB: " + fix;
    }
    return check;
  });
}

fs::path temporary_directory() {
  const char* given = std::getenv("TMPDIR");
  return given && *given ? given : "/tmp";
}

Check check_locale() {
  std::setlocale(LC_CTYPE, "");
  const std::string encoding = ::nl_langinfo(CODESET);
  std::setlocale(LC_CTYPE, "C");
  Check check{.name = "locale", .found = encoding + "; files are read and written as UTF-8"};
  if (encoding != "UTF-8") {
    check.status = Status::note;
    check.fix = "a terminal that is not UTF-8 shows wrong letters: export LC_ALL=C.UTF-8";
  }
  return check;
}

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path ? path : "");
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (::access((fs::path(directory) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

Check check_programs() {
  Check check{.name = "programs"};
  std::string missing;
  for (const char* program : {"curl", "tar", "gzip", "xz"}) {
    if (!in_path(program)) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", program);
  }
  if (missing.empty()) {
    check.found = "curl, tar, gzip and xz, which `residual fetch` runs";
  } else {
    check.status = Status::note;
    check.found = missing + " not found; `residual fetch` runs them";
    check.fix = "apt install curl ca-certificates tar gzip xz-utils";
  }
  return check;
}

}  // namespace

Check guarded(const std::string& name, const std::string& fix, const std::function<Check()>& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    return {.name = name, .status = Status::problem, .found = error.what(), .fix = fix};
  }
}

std::vector<Check> check_machine() {
  std::error_code ignored;
  return {check_cpu(),
          check_cores(),
          check_memory(),
          check_directory("directory", fs::current_path(ignored),
                          "work in a directory of your own: mkdir -p ~/residual && cd ~/residual"),
          check_directory("temporary", temporary_directory(),
                          "export TMPDIR=$HOME/tmp, and make that directory"),
          check_locale(),
          check_programs()};
}

}  // namespace residual::doctor
