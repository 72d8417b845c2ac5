#include "probe/probe.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "model/parameters.h"
#include "probe/figures.h"
#include "probe/subject.h"
#include "run/memory.h"
#include "train/learner.h"

namespace residual::probe {
namespace {

std::string describe(const model::Config& c) {
  const std::string layers =
      fmt::format("{}{}", c.has_encoder() ? fmt::format("E{}", c.encoder_layers) : "",
                  c.has_decoder() ? fmt::format("D{}", c.decoder_layers) : "");
  return fmt::format("{}, {}, width {}, inner {}, {} heads, {} parameters", c.residual.name, layers,
                     c.width, c.inner, c.heads,
                     format_count(static_cast<uint64_t>(model::parameter_count(c))));
}

Measurement measure_subject(const Subject& subject, const nn::ModelBatch& batch) {
  nn::Parameters parameters(subject.config.model);
  subject.load(parameters);
  if (subject.initial) {
    nn::Transformer(parameters, {}).calibrate(batch, {});
  }
  return measure(parameters, batch, train::loss_spec(subject.config.loss));
}

// The tokens of the longer side.
int64_t token_count(const nn::ModelBatch& batch) {
  const auto rows = [](const Tensor& side) { return side.defined() ? side.size(0) : 0; };
  return std::max(rows(batch.source), rows(batch.input));
}

// Returns the number of models that fit into memory at once. Throws an Error if not even one does.
int64_t models_at_once(const std::vector<Subject>& subjects,
                       const std::vector<ProbeBatch>& batches) {
  int64_t most = 1;
  for (size_t i = 0; i < subjects.size(); ++i) {
    run::TrainConfig config = subjects[i].config;
    config.train.workers = 1;
    config.batch.max_tokens = token_count(batches[i].batch);
    config.batch.pass_tokens = 0;
    const auto need = run::estimate_memory(config);
    // The trace of every block's input and output, with gradients, takes about as much again.
    most = std::max(most, need.parameters + need.gradients + 2 * need.activations);
  }
  const int64_t available = run::available_memory();
  if (available < 0) return static_cast<int64_t>(subjects.size());
  require(most <= available,
          "the largest model needs about {}, {} are free; use fewer layers or tokens",
          run::format_memory(most), run::format_memory(available));
  return available / most;
}

}  // namespace

report::Report probe_models(const SubjectOptions& options) {
  const auto subjects = open_subjects(options);
  std::vector<ProbeBatch> batches;
  for (const auto& subject : subjects) batches.push_back(make_batch(subject, options));

  std::vector<MeasuredModel> measured(subjects.size());
  Progress progress("probe", subjects.size(), "models");
  // Models in parallel use the cores better than ATen's threads, which synchronise after every
  // small operation. With one thread per model, sums do not depend on the number of threads either.
  const auto count = static_cast<int64_t>(subjects.size());
  const int64_t at_once = std::min(models_at_once(subjects, batches), count);
  parallel_for(count, (count + at_once - 1) / at_once, [&](int64_t begin, int64_t end) {
    at::set_num_threads(1);
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      measured[i] = {subjects[i].label, measure_subject(subjects[i], batches[i].batch)};
      progress.add();
    }
  });
  progress.finish();

  report::Report report{.title = "Gradients and representations, block by block"};
  const bool is_one_batch = std::ranges::all_of(
      batches, [&](const ProbeBatch& b) { return b.origin == batches[0].origin; });
  for (size_t i = 0; i < subjects.size(); ++i) {
    std::string fact =
        fmt::format("{}; {}; {:.3f} nats per token", describe(subjects[i].config.model),
                    subjects[i].origin, measured[i].measurement.nll);
    if (!is_one_batch) fact += "; probed on " + batches[i].origin;
    report.facts.emplace_back(subjects[i].label, std::move(fact));
  }
  if (is_one_batch) report.facts.emplace_back("probed on", batches[0].origin);
  report.figures = model_figures(measured);
  return report;
}

}  // namespace residual::probe
