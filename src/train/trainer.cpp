#include "train/trainer.h"

#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/progress.h"
#include "model/parameters.h"
#include "review/review.h"
#include "run/memory.h"
#include "run/start.h"
#include "train/nonfinite.h"
#include "train/schedule.h"

namespace residual::train {
namespace {

constexpr int64_t kMostSkipped = 100;  // in a row; after that many the run has diverged
constexpr size_t kLinesShown = 20;
constexpr const char* kTamer = "a lower schedule.peak or an optimizer.clip_norm";

double now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

bool divides(int64_t every, int64_t n) { return every > 0 && n % every == 0; }

bool is_memory_error(const std::string& what) {
  return what.find("allocate memory") != std::string::npos ||
         what.find("out of memory") != std::string::npos;
}

[[noreturn]] void fail_memory(const run::TrainConfig& config, int processes) {
  fail(
      "out of memory; free memory and continue with --resume, or start a new run with "
      "batch.pass_tokens "
      "below {}. Estimated need: {}",
      config.batch.pass_tokens, run::describe(run::estimate_memory(config, processes)));
}

}  // namespace

Trainer::Trainer(run::RunDirectory& run, FileSystem& system, const Peers& peers)
    : Trainer(&run, run.config(), system, peers) {}

Trainer::Trainer(const run::TrainConfig& config, const Peers& peers)
    : Trainer(nullptr, config, FileSystem::real(), peers) {}

Trainer::Trainer(run::RunDirectory* run, const run::TrainConfig& config, FileSystem& system,
                 const Peers& peers)
    : run_(run),
      system_(system),
      peers_(peers),
      config_(config),
      corpora_(config_),
      dev_(corpora_.dev_batches(config_)),
      scaler_(config_.loss_scale, config_.train.precision) {
  run::require_memory(config_, run::available_memory(), peers.size());
  learner_ = std::make_unique<Learner>(config_, peers);
  corpora_.with_vocabularies(config_);  // checks their sizes
  state_.loss_scale = scaler_.scale();
  data::Batcher batcher = corpora_.batcher(config_);
  if (peers.size() > 1) check_alike();
  run::Checkpoint start;
  if (run_ != nullptr) start = open_run(batcher);
  if (peers.size() > 1) spread_start();
  learner_->restore(std::move(start));
  scaler_.restore(state_.loss_scale, state_.good_updates);
  batcher.seek(state_.position);
  stream_ = std::make_unique<BatchStream>(std::move(batcher), config_.batch.update_frequency);
  if (dev_.empty()) log_.say("there is no dev corpus, so the run is not validated");
}

// Opens the run's files, reads the state that they hold, and returns the values to start from.
run::Checkpoint Trainer::open_run(data::Batcher& batcher) {
  if (config_.validate.wants_bleu() && !dev_.empty()) bleu_.emplace(corpora_, config_);
  store_.emplace(run_->path() / run::kCheckpoints, config_.model, system_);
  auto checkpoint = run_->is_new() ? std::nullopt : store_->newest();
  const bool resumes = checkpoint.has_value();
  if (resumes) {
    corpora_.require_those_of(checkpoint->state, run_->path());
    state_ = checkpoint->state;
  } else {
    checkpoint = first_values(batcher);
  }
  state_.corpus = corpora_.fingerprint();
  state_.dev_corpus = corpora_.dev_fingerprint();
  // begin() comes last: until here, a run that is to be started over is still intact. A run with
  // nothing to do stays unchanged.
  if (run::passed_limit(config_.train, state_).empty()) {
    run_->begin("LibTorch " TORCH_VERSION, peers_.size(), system_);
  }
  log_ = run::RunLog(run_->path(), config_.log.tensorboard, state_.update, state_.metrics_bytes,
                     system_);
  const std::string processes =
      peers_.size() == 1 ? "" : fmt::format(" in {} processes", peers_.size());
  if (resumes) {
    log_.say(fmt::format("resumed after update {}{}", format_count(state_.update), processes));
    return std::move(*checkpoint);
  }
  const std::string& start = config_.train.start_from;
  if (!start.empty()) log_.say(fmt::format("starts from the parameters of {}", start));
  log_.say(fmt::format("{} model with {} parameters; {} worker{}{}; {}",
                       config_.model.residual.name,
                       format_count(model::parameter_count(config_.model)), config_.train.workers,
                       config_.train.workers == 1 ? "" : "s", processes,
                       run::describe(run::estimate_memory(config_, peers_.size()))));
  if (const std::string doubt = run::doubt_about(config_); !doubt.empty()) log_.say(doubt);
  return std::move(*checkpoint);
}

// Returns another model's parameters, or those of the scheme's initialisation.
run::Checkpoint Trainer::first_values(data::Batcher& batcher) {
  run::Checkpoint start;
  if (config_.train.start_from.empty()) {
    learner_->calibrate(batcher.get(batcher.position()));
    start.values = learner_->parameter_values();
  } else {
    start.values = run::start_values(config_, corpora_);
  }
  if (config_.optimizer.averages()) start.average = start.values;
  return start;
}

End Trainer::run(const run::StopSignals& signals) {
  try {
    return run_explained(signals);
  } catch (const std::exception& error) {
    try {
      log_.note(fmt::format("error: {}", error.what()));
      write_report();
    } catch (const Error&) {  // a full disk must not hide the original error
    }
    throw;
  }
}

End Trainer::run_explained(const run::StopSignals& signals) {
  try {
    return run_loop(signals);
  } catch (const std::bad_alloc&) {
    fail_memory(config_, peers_.size());
  } catch (const c10::Error& error) {
    if (is_memory_error(error.what())) fail_memory(config_, peers_.size());
    throw;
  } catch (const PeerFailed& failed) {
    throw PeerFailed(with_command(failed));
  } catch (const PeerLost& lost) {
    throw PeerLost(with_command(lost));
  }
}

std::string Trainer::with_command(const PeerLost& lost) const {
  return fmt::format("{}. Resume from the last checkpoint with: {}", lost.what(), resuming());
}

// The command that resumes the run.
std::string Trainer::resuming() const {
  if (run_ == nullptr) return resuming_;
  std::string command = "residual train --resume -o " + shell_word(run_->path().string());
  if (peers_.size() > 1) command += " --distributed";
  if (observer_ != nullptr) command += fmt::format(" {}", observer_->option());
  return command;
}

End Trainer::run_loop(const run::StopSignals& signals) {
  if (const std::string passed = run::passed_limit(config_.train, state_); !passed.empty()) {
    log_.say("nothing to do: " + passed);
    return End::finished;
  }
  while (!finished()) {
    if (background_.has_failed()) background_.wait();  // rethrows the checkpoint's error
    signal_ = agree(signals);
    if (signal_ != 0) {
      save_and_stop();
      return End::interrupted;
    }
    const Step done = step();
    if (done.updated && divides(observed_every_, state_.update)) observe_update();
    if (done.updated && divides(config_.log.every_updates, state_.update)) log_metrics();
    const bool validates = validation_due(done);
    const run::Rank rank = validates ? validate() : run::Rank::none;
    if (validates) write_report();
    if (rank == run::Rank::none && !checkpoint_due(done)) continue;
    if (done.epoch_ended) note_epoch_end();
    save(rank == run::Rank::best);
  }
  if (state_.sums.updates > 0) log_metrics();
  const bool validates = config_.validate.every_updates + config_.validate.every_epochs > 0;
  const bool missing = validates && state_.validated != state_.update;
  const int64_t without_gain = state_.validations_without_gain;
  const run::Rank rank = missing ? validate() : run::Rank::none;
  // Only the end of the run required this validation. It does not count against the patience, so
  // that a run that is extended later behaves like one that was longer from the start.
  state_.validations_without_gain = std::min(state_.validations_without_gain, without_gain);
  save(rank == run::Rank::best);
  background_.wait();
  part();
  log_.say(fmt::format("finished after update {}{}; {} of memory at most",
                       format_count(state_.update),
                       out_of_patience() ? ": validate.patience is exhausted" : "",
                       run::format_memory(peak_memory())));
  write_report();
  return out_of_patience() ? End::patience : End::finished;
}

void Trainer::save_and_stop() {
  save(/*best=*/false);
  background_.wait();
  part();
  if (run_ == nullptr) return;
  log_.say(fmt::format("stopped after update {}; continue with: {}", format_count(state_.update),
                       resuming()));
  write_report();
}

void Trainer::observe_update() {
  learner_->collect_gradient();
  if (observer_ != nullptr) observer_->updated(state_.update, *learner_, log_);
}

bool Trainer::out_of_patience() const {
  return config_.validate.patience > 0 &&
         state_.validations_without_gain >= config_.validate.patience;
}

bool Trainer::finished() const {
  const run::RunConfig& limits = config_.train;
  return (limits.max_updates > 0 && state_.update >= limits.max_updates) ||
         (limits.max_epochs > 0 && state_.position.epoch > limits.max_epochs) || out_of_patience();
}

Trainer::Step Trainer::step() {
  const double start = now();
  const auto [batches, next, epoch_done] = stream_->next();
  const UpdateResult result = learner_->update(batches, {.number = state_.update + 1,
                                                         .learning_rate = rate_after(state_.update),
                                                         .loss_scale = scaler_.scale()});
  if (result.finite) {
    scaler_.succeeded();
    ++state_.update;
    state_.sums.add(result.sums);
    state_.skipped_in_a_row = 0;
  } else {
    nonfinite(batches, state_.update + 1);
  }
  state_.loss_scale = scaler_.scale();
  state_.good_updates = scaler_.good_updates();
  const bool epoch_ended = next.epoch > state_.position.epoch;
  state_.position = next;
  gradient_norm_ = result.sums.gradient_norm;
  epoch_done_ = epoch_done;
  for (Pace* pace : {&session_, &line_}) {
    pace->sums.add(result.sums);
    pace->seconds += now() - start;
  }
  log_.live(status());
  return {result.finite, epoch_ended};
}

double Trainer::rate_after(int64_t updates) const {
  return state_.learning_rate_factor * learning_rate(config_.schedule, updates);
}

void Trainer::nonfinite(std::span<const data::Batch> batches, int64_t number) {
  ++state_.skipped;
  ++state_.skipped_in_a_row;
  if (scaler_.active()) {
    if (!scaler_.overflowed()) {
      stop_nonfinite(batches, number,
                     fmt::format("the loss scale has fallen below loss_scale.minimum = {}; start a "
                                 "new run with {}, or in bf16 or fp32",
                                 config_.loss_scale.minimum, kTamer));
    }
    log_.say(
        fmt::format("update {}: overflow; the loss is now scaled by {}", number, scaler_.scale()));
    return;
  }
  if (config_.train.on_nonfinite == run::OnNonfinite::stop) {
    stop_nonfinite(batches, number,
                   fmt::format("start a new run with {}, or skip such updates with --resume "
                               "--set train.on_nonfinite=skip",
                               kTamer));
  }
  if (state_.skipped_in_a_row > kMostSkipped) {
    stop_nonfinite(
        batches, number,
        fmt::format("the {} updates before it were skipped too, so the run has diverged; "
                    "start a new one with {}",
                    kMostSkipped, kTamer));
  }
  if (config_.train.on_nonfinite == run::OnNonfinite::lower) state_.learning_rate_factor /= 2;
  std::vector<std::string> lines;
  for (const auto& batch : batches) lines.push_back(corpora_.lines_of(batch, kLinesShown));
  log_.say(fmt::format("update {}: loss or gradient is not finite; skipped ({}){}", number,
                       fmt::join(lines, "; "),
                       config_.train.on_nonfinite == run::OnNonfinite::lower
                           ? "; the learning rate is halved from now on"
                           : ""));
}

void Trainer::stop_nonfinite(std::span<const data::Batch> batches, int64_t number,
                             const std::string& advice) {
  run::Checkpoint before = learner_->checkpoint();
  if (run_ == nullptr) {
    part();
    fail("update {}: loss or gradient is not finite; process 0 reports where", number);
  }
  background_.wait();
  before.state = state_;
  const Finding finding = find_nonfinite(*learner_, config_, batches, number);
  const fs::path bundle = run_->path() / fmt::format("nonfinite-{:09}", number);
  write_bundle(bundle, config_, before, finding, corpora_.lines_of(finding.shard), system_);
  part();
  fail(
      "update {}: loss or gradient is not finite; first: {}; sentences of {}. Look closer with "
      "`residual train --replay {}`; {}",
      number, finding.place, corpora_.lines_of(finding.shard, kLinesShown),
      shell_word(bundle.string()), advice);
}

run::Status Trainer::status() const {
  const run::Averages mean = run::averages(state_.sums);
  const auto left = static_cast<double>(config_.train.max_updates - state_.update);
  return {.update = state_.update,
          .max_updates = config_.train.max_updates,
          .epoch = state_.position.epoch,
          .epoch_done = epoch_done_,
          .loss = mean.loss,
          .perplexity = mean.perplexity,
          .learning_rate = rate_after(state_.update - 1),
          .gradient_norm = gradient_norm_,
          .tokens_per_second = static_cast<double>(line_.sums.tokens) / line_.seconds,
          .seconds_left =
              left < 0 ? -1 : left * session_.seconds / static_cast<double>(session_.sums.updates)};
}

void Trainer::log_metrics() {
  const run::Averages mean = run::averages(state_.sums);
  nlohmann::ordered_json line{
      {"epoch", state_.position.epoch},
      {"batch", state_.position.batch},
      {"loss", mean.loss},
      {"nll", mean.nll},
      {"perplexity", mean.perplexity},
      {"learning_rate", rate_after(state_.update - 1)},
      {"gradient_norm", state_.sums.gradient_norm / static_cast<double>(state_.sums.updates)},
      {"tokens", state_.sums.tokens},
      {"source_tokens", state_.sums.source_tokens},
      {"sentences", state_.sums.sentences},
      {"skipped", state_.skipped}};
  if (scaler_.active()) line["loss_scale"] = state_.loss_scale;
  log_.metrics("train", state_.update, line);
  if (line_.seconds > 0) {  // otherwise an earlier session computed these updates
    log_.say(run::format_status(status()));
    log_.speed({{"update", state_.update},
                {"updates", line_.sums.updates},
                {"seconds", line_.seconds},
                {"tokens_per_second", static_cast<double>(line_.sums.tokens) / line_.seconds},
                {"source_tokens_per_second",
                 static_cast<double>(line_.sums.source_tokens) / line_.seconds},
                {"peak_memory_bytes", peak_memory()}});
  }
  line_ = {};
  state_.sums = {};
}

bool Trainer::validation_due(const Step& step) const {
  const run::ValidateConfig& v = config_.validate;
  return (step.updated && divides(v.every_updates, state_.update)) ||
         (step.epoch_ended && divides(v.every_epochs, state_.position.epoch - 1));
}

bool Trainer::checkpoint_due(const Step& step) const {
  const run::CheckpointConfig& c = config_.checkpoint;
  const int64_t every_epochs = c.every_epochs == 0 && c.keep_epochs > 0 ? 1 : c.every_epochs;
  return (step.updated && divides(c.every_updates, state_.update)) ||
         (step.epoch_ended && divides(every_epochs, state_.position.epoch - 1));
}

void Trainer::note_epoch_end() {
  auto& ends = state_.epoch_ends;
  ends.push_back(state_.update);
  const auto keep = static_cast<size_t>(std::max<int64_t>(1, config_.checkpoint.keep_epochs));
  if (ends.size() > keep) ends.erase(ends.begin(), ends.end() - static_cast<std::ptrdiff_t>(keep));
}

// Scores the dev texts and records some of their translations.
double Trainer::dev_bleu(std::span<const float> model) {
  const DevBleu::Result result = bleu_->score(model);
  nlohmann::ordered_json samples = nlohmann::ordered_json::array();
  for (const auto& s : result.samples) {
    samples.push_back(
        {{"source", s.source}, {"reference", s.reference}, {"hypothesis", s.hypothesis}});
  }
  log_.metrics("samples", state_.update, {{"samples", std::move(samples)}});
  return result.bleu;
}

// The report is a view of other files: a failure to write it costs only the view.
void Trainer::write_report() {
  if (run_ == nullptr) return;
  try {
    review::write_report(run_->path());
  } catch (const std::exception& error) {
    log::warn("{}", error.what());
  }
}

run::Rank Trainer::validate() {
  if (dev_.empty()) return run::Rank::none;
  const run::Averages mean = run::averages(learner_->evaluate(dev_));
  std::map<run::ValidationMetric, double> values = {
      {run::ValidationMetric::loss, mean.loss},
      {run::ValidationMetric::nll, mean.nll},
      {run::ValidationMetric::perplexity, mean.perplexity}};
  if (config_.validate.wants_bleu()) {  // a model with a NaN loss cannot translate
    std::vector<double> bleu = {std::nan("")};
    if (std::isfinite(mean.loss)) {
      const std::vector<float> model = learner_->model_values();  // all ranks take part
      if (bleu_) bleu[0] = dev_bleu(model);
    }
    peers_.spread(bleu);
    values[run::ValidationMetric::bleu] = bleu[0];
  }
  const run::ValidationMetric metric = config_.validate.metric;
  const run::Rank rank =
      run::note_validation(state_, metric, values.at(metric), config_.checkpoint.keep_best);
  nlohmann::ordered_json line{{"epoch", run::epoch_of(state_)}};
  std::string text = fmt::format("update {}: dev", format_count(state_.update));
  for (const auto& [which, value] : values) {
    line[name_of(which)] = value;
    text += fmt::format(" {} {:.3f}", name_of(which), value);
  }
  log_.metrics("valid", state_.update, line);
  log_.say(text + (rank == run::Rank::best ? " (the best so far)" : ""));
  return rank;
}

// Copies the model and its state; another thread writes them while training continues.
void Trainer::save(bool best) {
  auto copy = std::make_shared<run::Checkpoint>(learner_->checkpoint());
  if (run_ == nullptr) return;
  state_.metrics_bytes = log_.sync();
  copy->state = state_;
  std::set<int64_t> keep;
  const auto& epochs = state_.epoch_ends;
  if (config_.checkpoint.keep_epochs > 0) keep.insert(epochs.begin(), epochs.end());
  for (const auto& validation : state_.best) {
    if (config_.checkpoint.keep_best > 0) keep.insert(validation.update);
  }
  // The checkpoint is written last. A run that is killed in between resumes from the previous
  // checkpoint and writes the same models again. In the opposite order, the state could name a best
  // model that was never written.
  background_.run([this, copy, keep, best] {
    try {
      if (best) write_model(run_->path() / "best", *copy);
      write_model(run_->path() / "last", *copy);
      store_->write(*copy);
      store_->prune(copy->state.update, config_.checkpoint.keep_last, keep);
    } catch (const Error& error) {
      const std::string failed = fmt::format("the checkpoint of update {} could not be written: {}",
                                             copy->state.update, error.what());
      require(!store_->list().empty(),
              "{}. It would have been the first; remove the cause, then start again with: {}",
              failed, resuming());
      fail("{}. Earlier ones are intact; remove the cause, then resume with: {}", failed,
           resuming());
    }
  });
}

void Trainer::write_model(const fs::path& path, const run::Checkpoint& checkpoint) const {
  model::Description description = corpora_.description(config_);
  description.update = checkpoint.state.update;
  std::vector<model::TensorBytes> tensors;
  const float* at = checkpoint.model_values().data();
  for (const auto& p : model::parameters(config_.model)) {
    const auto bytes = static_cast<size_t>(p.size()) * sizeof(float);
    tensors.push_back(
        {p.name, model::Dtype::f32, p.shape, {reinterpret_cast<const char*>(at), bytes}});
    at += p.size();
  }
  const auto add_text = [&](const fs::path& to) {
    for (const auto& [file, content] : corpora_.text_files()) {
      replace_file(to / file, content, system_);
    }
  };
  model::write_directory(path, description, tensors, add_text, system_);
}

}  // namespace residual::train
