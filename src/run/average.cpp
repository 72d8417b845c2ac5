#include "run/average.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/log.h"
#include "model/average.h"
#include "model/parameters.h"
#include "run/artifact.h"
#include "run/checkpoint.h"
#include "run/run_directory.h"
#include "run/validation.h"

namespace residual::run {
namespace {

struct Input {
  std::string name;
  fs::path weights;
  std::string prefix;  // prefix of the parameters' names
  fs::path directory;  // model that provides the configuration and the text files
  int64_t update;
};

// The input is a model directory or a bundle.
Input model_input(const fs::path& path) {
  const auto model = model::Directory::open(path);
  for (const auto& p : model::parameters(model.description().model)) model.parameter(p.name);
  const fs::path weights = model.is_bundle() ? path : path / model::kWeightsFile;
  return {path.string(), weights, "", path, model.description().update};
}

// A run writes last/ with every checkpoint, so its configuration and text files fit all of them;
// only the weights differ.
fs::path model_of_run(const fs::path& run) {
  for (const char* name : {"last", "best"}) {
    if (fs::exists(run / name / model::kWeightsFile)) return run / name;
  }
  fail("{}: has no model in last/ or best/ to take vocabularies and architecture from",
       run.string());
}

Input checkpoint_input(const fs::path& path) {
  const fs::path run = fs::absolute(path).parent_path().parent_path();
  require(fs::exists(run / kRunConfig),
          "{}: this checkpoint lies outside its run, which holds vocabularies and architecture; "
          "put it into RUN/{}",
          path.string(), kCheckpoints);
  return {path.filename().string(), path, model_prefix(model::SafeTensors::open(path)),
          model_of_run(run), verify_checkpoint(path).update};
}

std::vector<int64_t> updates_of(const std::map<int64_t, fs::path>& checkpoints) {
  std::vector<int64_t> updates;
  for (const auto& [update, path] : checkpoints) updates.push_back(update);
  return updates;
}

// The validated updates of a run that have a checkpoint, best first. The state remembers only
// keep_best of them; metrics.jsonl has all, unless somebody removed it.
std::vector<int64_t> best_of(const fs::path& run, const std::map<int64_t, fs::path>& all,
                             const State& state) {
  TrainConfig config;
  read_config(run / kRunConfig, config);
  const ValidationMetric metric = config.validate.metric;
  auto values = validations_of(run, metric);
  for (const auto& [update, value] : state.best) values.emplace(update, value);
  std::vector<int64_t> updates;
  for (const auto& [update, value] : values) {
    if (all.contains(update) && !std::isnan(value)) updates.push_back(update);
  }
  std::ranges::reverse(updates);  // the newest of equal values is the best
  std::ranges::stable_sort(
      updates, [&](int64_t a, int64_t b) { return is_better(metric, values.at(a), values.at(b)); });
  return updates;
}

std::vector<int64_t> chosen(const fs::path& run, const std::map<int64_t, fs::path>& all,
                            const CheckpointChoice& c) {
  const std::vector<int64_t> there = updates_of(all);
  if (!c.is_given()) return there;
  std::vector<int64_t> out = c.updates, best, ends;
  if (c.best > 0 || c.epochs > 0) {
    const State state = verify_checkpoint(all.rbegin()->second);
    best = best_of(run, all, state);
    for (const int64_t update : state.epoch_ends) {
      if (all.contains(update)) ends.push_back(update);
    }
  }
  const auto at_most = [](int64_t count, const std::vector<int64_t>& from, const char* what) {
    const auto found = static_cast<int64_t>(from.size());
    if (found < count) log::warn("of {} {} checkpoints, only {} exist", count, what, found);
    return std::min(count, found);
  };
  out.insert(out.end(), there.end() - at_most(c.last, there, "last"), there.end());
  out.insert(out.end(), best.begin(), best.begin() + at_most(c.best, best, "best"));
  out.insert(out.end(), ends.end() - at_most(c.epochs, ends, "epochs' last"), ends.end());
  std::ranges::sort(out);  // each checkpoint counts once
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

std::vector<Input> run_inputs(const fs::path& run, const CheckpointChoice& choice) {
  const auto all = CheckpointStore(run / kCheckpoints, {}).list();
  require(!all.empty(), "{}: has no checkpoints", run.string());
  std::vector<Input> inputs;
  for (const int64_t update : chosen(run, all, choice)) {
    const auto found = all.find(update);
    require(found != all.end(), "{}: has no checkpoint of update {}; available updates: {}",
            run.string(), update, fmt::join(updates_of(all), ", "));
    inputs.push_back(checkpoint_input(found->second));
  }
  require(!inputs.empty(), "{}: the options select none of its checkpoints", run.string());
  return inputs;
}

std::vector<Input> inputs_at(const fs::path& path, const CheckpointChoice& choice) {
  const Artifact artifact = artifact_at(path);
  if (artifact == Artifact::run) return run_inputs(path, choice);
  require(!choice.is_given(), "{}: is a {}; options that select checkpoints need a run",
          path.string(), name_of(artifact));
  if (artifact == Artifact::checkpoint) return {checkpoint_input(path)};
  require(artifact == Artifact::model || artifact == Artifact::bundle,
          "{}: is a {}; expected a run, a checkpoint or a model", path.string(), name_of(artifact));
  return {model_input(path)};
}

bool has_vocabularies_of(const model::Directory& a, const model::Directory& b) {
  return a.source_vocabulary().format() == b.source_vocabulary().format() &&
         a.target_vocabulary().format() == b.target_vocabulary().format();
}

model::Description description_of(const std::vector<Input>& inputs) {
  const auto first = model::Directory::open(inputs[0].directory);
  model::Description description = first.description();
  description.update = 0;
  std::vector<std::string> updates;
  for (const auto& input : inputs) {
    const auto other = model::Directory::open(input.directory);
    require(to_toml(other.description().model) == to_toml(description.model),
            "{} and {} have different architectures; `residual info` shows them",
            inputs[0].directory.string(), input.directory.string());
    require(input.directory == inputs[0].directory || has_vocabularies_of(first, other),
            "{} and {} have different vocabularies", inputs[0].directory.string(),
            input.directory.string());
    description.update = std::max(description.update, input.update);
    updates.push_back(fmt::format("{} (update {})", input.name, input.update));
  }
  description.origin = fmt::format("mean of {}", fmt::join(updates, ", "));
  return description;
}

}  // namespace

Mean mean_of(const std::vector<fs::path>& paths, const CheckpointChoice& choice) {
  std::vector<Input> inputs;
  for (const auto& path : paths) {
    for (auto& input : inputs_at(path, choice)) inputs.push_back(std::move(input));
  }
  const model::Description description = description_of(inputs);

  std::vector<model::SafeTensors> files;
  std::vector<model::WeightsAt> weights;
  files.reserve(inputs.size());
  for (const auto& input : inputs) {
    weights.push_back({&files.emplace_back(model::SafeTensors::open(input.weights)), input.prefix});
  }
  return {description, model::average(weights, description.model), inputs[0].directory};
}

model::Description average(const std::vector<fs::path>& paths, const CheckpointChoice& choice,
                           const fs::path& output) {
  const auto [description, means, text_from] = mean_of(paths, choice);
  const auto list = model::parameters(description.model);
  std::vector<model::TensorBytes> tensors;
  for (size_t i = 0; i < list.size(); ++i) {
    tensors.push_back({list[i].name,
                       model::Dtype::f32,
                       list[i].shape,
                       {reinterpret_cast<const char*>(means[i].data()), 4 * means[i].size()}});
  }
  model::write_directory(output, description, tensors, model::Directory::open(text_from));
  return description;
}

}  // namespace residual::run
