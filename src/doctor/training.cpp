#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/process.h"
#include "base/version.h"
#include "doctor/check.h"

namespace residual::doctor {
namespace {

constexpr const char* kInstall =
    "only training needs it: apt install residual-train, or build with -DRESIDUAL_TRAIN=ON after "
    "apt install libtorch-dev libdnnl-dev";

// A temporary directory, removed with the object.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "residual-doctor-XXXXXX").string();
    if (!::mkdtemp(name.data())) fail_errno(name, "cannot make a directory");
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Returns the rest of the line of `text` that starts with `key`.
std::string value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return "unknown";
}

Check check_program(const fs::path& program) {
  return guarded("training", kInstall, [&] {
    const ProcessResult asked = run_process({program.string(), "--version"});
    Check check{.name = "training"};
    if (asked.exit_code == 127) {
      check.status = Status::note;
      check.found = "residual-train is not installed; this machine can only translate";
      check.fix = kInstall;
      return check;
    }
    require(asked.exit_code == 0, "{} --version ended with code {}", program.string(),
            asked.exit_code);
    const std::string own = fmt::format("residual {} ({})", version(), commit());
    const std::string other = first_line(asked.output);
    check.found =
        fmt::format("residual-train with LibTorch {}", value_of(asked.output, "LibTorch: "));
    if (other != own) {
      check.status = Status::problem;
      check.found += fmt::format("; it is {}, this is {}", other, own);
      check.fix = "install both from one build";
    }
    return check;
  });
}

// Writes lines of letters and their reversals, enough for a model of a few thousand parameters.
void write_pairs(const std::string& stem) {
  std::ofstream source(stem + ".ab"), target(stem + ".ba");
  for (int i = 0; i < 64; ++i) {
    const char x = static_cast<char>('a' + i % 7), y = static_cast<char>('a' + i % 5);
    source << fmt::format("{} {} z\n", x, y);
    target << fmt::format("z {} {}\n", y, x);
  }
}

void run_step(const std::vector<std::string>& argv) {
  const ProcessResult result = run_process(argv);
  require(result.exit_code == 0, "`{}` ended with code {}", fmt::join(argv, " "), result.exit_code);
}

Check check_updates(const fs::path& residual) {
  const std::string fix = "the message above says why; `residual train --help`, docs/training.md";
  return guarded("updates", fix, [&] {
    const Scratch scratch;
    write_pairs(scratch / "text");
    const std::string self = residual.string();
    run_step({self, "-q", "prepare", "--source-lang", "ab", "--target-lang", "ba", "--train",
              scratch / "text", "--set", "split.dev_every=8", "--set", "text.tokenizer=none",
              "--set", "subwords.kind=none", "-o", scratch / "prepared"});
    std::ofstream(scratch / "tiny.toml")
        << "[model]\nencoder_layers = 1\ndecoder_layers = 1\nwidth = 16\ninner = 32\nheads = 2\n"
           "[batch]\nmax_tokens = 256\n[schedule]\npeak = 5e-3\nwarmup = 2\n"
           "[train]\nmax_updates = 5\n";
    run_step({self, "-q", "train", scratch / "tiny.toml", "--data", scratch / "prepared", "-o",
              scratch / "run"});
    run_step({self, "-q", "verify", scratch / "run"});
    return Check{.name = "updates", .found = "a tiny model was trained, and its files are intact"};
  });
}

// As `residual train` finds it: beside `residual`, or in PATH.
fs::path training_program(const fs::path& residual) {
  const fs::path beside = residual.parent_path() / "residual-train";
  return fs::exists(beside) ? beside : "residual-train";
}

}  // namespace

std::vector<Check> check_device(const fs::path& residual, const std::string& device) {
  const std::string program = training_program(residual).string();
  const std::string fix = "--device cpu works everywhere";
  std::vector<Check> checks;
  const Check all = guarded("device", fix, [&] {
    // One line for each check: "ok" or "problem", the name, and the finding, after tabs.
    const ProcessResult asked = run_process({program, "check-device", device});
    require(asked.exit_code != 127, "residual-train is not installed; {}", kInstall);
    std::istringstream lines(asked.output);
    for (std::string line; std::getline(lines, line);) {
      const size_t name = line.find('\t'), found = line.find('\t', name + 1);
      require(found != std::string::npos, "{} check-device wrote \"{}\"", program, line);
      const bool passed = line.starts_with("ok");
      checks.push_back({.name = line.substr(name + 1, found - name - 1),
                        .status = passed ? Status::ok : Status::problem,
                        .found = line.substr(found + 1),
                        .fix = passed ? "" : "train on the CPU, and report this"});
    }
    require(asked.exit_code == 0, "{} cannot be used; the message above says why", device);
    return Check{.name = "device",
                 .found = fmt::format("{}: {} checks were run on it", device, checks.size())};
  });
  checks.insert(checks.begin(), all);
  return checks;
}

std::vector<Check> check_training(const fs::path& residual, bool run) {
  const fs::path program = training_program(residual);
  std::vector<Check> checks = {check_program(program)};
  if (run && checks[0].status == Status::ok) checks.push_back(check_updates(residual));
  return checks;
}

}  // namespace residual::doctor
