#include "run/state.h"

#include <fmt/format.h>

namespace residual::run {

void Sums::add(const Sums& other) {
  updates += other.updates;
  tokens += other.tokens;
  source_tokens += other.source_tokens;
  sentences += other.sentences;
  loss += other.loss;
  nll += other.nll;
  gradient_norm += other.gradient_norm;
}

void fields(ConfigVisitor& visit, Sums& s) {
  visit("updates", s.updates, "");
  visit("tokens", s.tokens, "predicted tokens");
  visit("source_tokens", s.source_tokens, "");
  visit("sentences", s.sentences, "");
  visit("loss", s.loss, "natural logarithms");
  visit("nll", s.nll, "natural logarithms");
  visit("gradient_norm", s.gradient_norm, "");
}

void fields(ConfigVisitor& visit, BestValidation& b) {
  visit("update", b.update, "");
  visit("value", b.value, "value of validate.metric");
}

void fields(ConfigVisitor& visit, State& s) {
  visit("corpus", s.corpus, "checksum of the training corpora");
  visit("dev_corpus", s.dev_corpus, "checksum of the dev corpora");
  visit("update", s.update, "completed updates");
  visit("epoch", s.position.epoch, "epoch of the next batch");
  visit("batch", s.position.batch, "index of the next batch in the epoch, from 0");
  visit("learning_rate_factor", s.learning_rate_factor, "factor set by train.on_nonfinite = lower");
  visit("skipped", s.skipped, "updates skipped because they were not finite");
  visit("skipped_in_a_row", s.skipped_in_a_row, "skipped updates since the last good one");
  visit("loss_scale", s.loss_scale, "factor on the loss");
  visit("good_updates", s.good_updates, "good updates since the factor last changed");
  visit("validated", s.validated, "update of the latest validation; -1: none yet");
  visit("validations_without_gain", s.validations_without_gain,
        "validations in a row without a better metric");
  visit("metrics_bytes", s.metrics_bytes, "length of metrics.jsonl");
  visit("epoch_ends", s.epoch_ends, "updates of the latest checkpoints at an epoch's end");
  visit.table("sums", s.sums, "since the last line of metrics.jsonl");
  visit.tables("best", s.best, "best validations, best first");
}

int64_t epoch_of(const State& s) { return s.position.epoch - (s.position.batch == 0 ? 1 : 0); }

std::string passed_limit(const RunConfig& limits, const State& s) {
  if (limits.max_updates > 0 && s.update > limits.max_updates) {
    return fmt::format("the run already has {} updates, and train.max_updates is {}", s.update,
                       limits.max_updates);
  }
  if (limits.max_epochs > 0 && epoch_of(s) > limits.max_epochs) {
    return fmt::format("the run is already in epoch {}, and train.max_epochs is {}", epoch_of(s),
                       limits.max_epochs);
  }
  return "";
}

}  // namespace residual::run
