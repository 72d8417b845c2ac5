#include "study/runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <list>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "run/signals.h"
#include "study/overview.h"

namespace residual::study {
namespace {

constexpr auto kPause = std::chrono::milliseconds(200);

// Tells whether a process is training in the run: one that somebody else started, or one of ours
// that was told to stop and has not ended yet.
bool is_locked(const fs::path& run) {
  const int file = ::open((run / "lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool locked = ::flock(file, LOCK_SH | LOCK_NB) != 0;
  ::close(file);
  return locked;
}

std::string last_line(const fs::path& file) {
  std::string text = read_file(file);
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.find_last_of('\n') + 1);
}

class Runner {
 public:
  Runner(const Plan& plan, const std::vector<Work>& work, const RunnerOptions& options)
      : plan_(plan),
        options_(options),
        tests_(load_tests(plan, work[0].cell.config)),
        kind_(work[0].cell.config.model.kind),
        corpus_(corpus_fingerprint(plan, work[0].cell.config.data.prepared)),
        unigram_(unigram_entropy(work[0].cell.config.data.prepared)),
        overview_(work, options.output) {
    for (const auto& item : work) {
      if (item.action != Action::nothing) waiting_.push_back(&item);
    }
  }

  int run() {
    const run::StopSignals signals;
    while (!waiting_.empty() || !running_.empty() || !trained_.empty()) {
      if (signals.received() != 0) return stop(signals.received());
      start();
      collect();
      if (trained_.empty()) {
        std::this_thread::sleep_for(kPause);
      } else {  // score while the next runs train
        score(*trained_.front());
        trained_.pop_front();
      }
      overview_.show(names_of_running());
    }
    return failures_ == 0 ? 0 : 1;
  }

 private:
  struct Running {
    const Work* work;
    Child child;
  };

  void start() {
    for (auto at = waiting_.begin();
         at != waiting_.end() && running_.size() < static_cast<size_t>(options_.jobs);) {
      const Work& work = **at;
      if (is_locked(run_directory(options_.output, work.cell))) {
        ++at;
        continue;
      }
      at = waiting_.erase(at);
      // Another process may have started or finished the cell since the last check.
      if (load_result(plan_, work.cell, options_.output)) {
        overview_.finished(work);
        continue;
      }
      const auto command = command_of(plan_, work.cell, options_);
      const bool resumes = command.back() == "--resume";
      overview_.say(fmt::format("{} {}", resumes ? "resume" : "start", work.cell.name));
      running_.push_back({&work, Child(command, log_file(options_.output, work.cell))});
    }
  }

  void collect() {
    for (auto at = running_.begin(); at != running_.end();) {
      const auto code = at->child.exit_code();
      if (!code) {
        ++at;
        continue;
      }
      const Cell& cell = at->work->cell;
      if (*code == 0 || read_record(run_directory(options_.output, cell)).nonfinite) {
        trained_.push_back(at->work);
      } else if (!stopping_ && is_locked(run_directory(options_.output, cell))) {
        waiting_.push_back(at->work);  // another process has taken it
      } else if (!stopping_) {
        ++failures_;
        overview_.clear();
        const fs::path said = log_file(options_.output, cell);
        log::warn("{}: residual train ended with code {}: {} ({})", cell.name, *code,
                  last_line(said), said.string());
      }
      at = running_.erase(at);
    }
  }

  void score(const Work& work) {
    const fs::path run = run_directory(options_.output, work.cell);
    const Record record = read_record(run);
    const Verdict verdict = judge(record, plan_.evaluate.model, unigram_);
    Result result{.made_from = fingerprint(plan_, work.cell),
                  .corpus = corpus_,
                  .updates = record.updates,
                  .seconds = record.seconds,
                  .converged = verdict.converged,
                  .reason = verdict.reason,
                  .dev_nll = verdict.dev_nll,
                  .unigram = unigram_,
                  .signature = signature()};
    const fs::path file = result_file(options_.output, plan_, work.cell);
    try {
      if (!record.nonfinite) {
        result.scores = translate_tests(plan_, tests_, run, fs::path(file).replace_extension());
      }
    } catch (const Error& error) {
      // A failed run may have no model that can translate.
      if (verdict.converged) {
        ++failures_;
        overview_.clear();
        log::warn("{}: cannot be scored: {}", work.cell.name, error.what());
        return;
      }
    }
    write_result(file, result);
    overview_.finished(work);
    overview_.say(fmt::format("{}: {}; dev perplexity {:.2f}, {} {:.2f}", work.cell.name,
                              verdict.converged ? "converged" : "failed, " + verdict.reason,
                              std::exp2(verdict.dev_nll),
                              is_translation() ? "BLEU" : "test perplexity", result.mean()));
  }

  bool is_translation() const { return kind_ == model::Kind::translation; }
  std::string signature() const {
    return is_translation() ? metrics::Bleu(tests_[0].bleu).signature(1).text() : "";
  }

  int stop(int signal) {
    stopping_ = true;
    overview_.say("stopping after the current updates; run `residual study` again to continue");
    for (const auto& running : running_) running.child.signal(signal);
    while (!running_.empty()) {
      collect();
      std::this_thread::sleep_for(kPause);
    }
    return 128 + signal;
  }

  std::vector<const Work*> names_of_running() const {
    std::vector<const Work*> works;
    for (const auto& running : running_) works.push_back(running.work);
    return works;
  }

  const Plan& plan_;
  const RunnerOptions& options_;
  std::vector<TestSet> tests_;
  model::Kind kind_;
  std::string corpus_;  // checksum of the training and test texts
  double unigram_;
  Overview overview_;
  std::list<const Work*> waiting_, trained_;
  std::list<Running> running_;
  int failures_ = 0;
  bool stopping_ = false;
};

}  // namespace

int run(const Plan& plan, const std::vector<Work>& work, const RunnerOptions& options) {
  fs::create_directories(options.output / "runs");
  fs::create_directories(options.output / "results" / plan.name());
  fs::create_directories(options.output / "logs");
  return Runner(plan, work, options).run();
}

}  // namespace residual::study
