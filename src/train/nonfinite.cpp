#include "train/nonfinite.h"

#include <charconv>
#include <utility>

#include "base/error.h"
#include "base/progress.h"
#include "model/parameters.h"
#include "ops/threads.h"
#include "train/autocast.h"

namespace residual::train {
namespace {

using schemes::Side;

constexpr const char* kConfigFile = "config.toml";
constexpr const char* kCheckpointFile = "checkpoint.safetensors";
constexpr const char* kBatchFile = "batch.safetensors";

const char* name_of(Side side) { return side == Side::encoder ? "encoder" : "decoder"; }

int64_t count_nonfinite(const Tensor& t) {
  return t.numel() - at::isfinite(t.detach()).sum().item<int64_t>();
}

std::string count(int64_t n) { return format_count(static_cast<uint64_t>(n)); }

// Describes the elements of t that are not finite; "" if all are.
std::string trouble(const Tensor& t, const std::string& name) {
  const int64_t bad = count_nonfinite(t);
  return bad == 0 ? "" : fmt::format("{}: {} of {} elements", name, count(bad), count(t.numel()));
}

// Keeps the first tensor that is not finite.
class FirstTrouble : public nn::Watcher {
 public:
  explicit FirstTrouble(const model::Config& config) : config_(config) {}

  void embedded(Side side, const Tensor& x) override {
    note(x, fmt::format("{}, embedded input", name_of(side)));
  }
  void block(Side side, int k, const Tensor& input, const Tensor& output) override {
    const std::string name = model::block_name(config_, side, k);
    note(input, name + ", input");
    note(output, name + ", output");
  }
  void stack(Side side, const Tensor& y) override {
    note(y, fmt::format("{}, output of the stack", name_of(side)));
  }
  void note(const Tensor& t, const std::string& name) {
    if (first_.empty()) first_ = trouble(t, name);
  }
  const std::string& first() const { return first_; }

 private:
  const model::Config& config_;
  std::string first_;
};

// Writes a line of statistics for every observed tensor.
class Statistics : public nn::Watcher {
 public:
  explicit Statistics(const model::Config& config) : config_(config) {
    text_ =
        fmt::format("{:<48} {:>12} {:>12} {:>11}\n", "tensor", "mean |x|", "max |x|", "not finite");
  }

  void embedded(Side side, const Tensor& x) override {
    add(fmt::format("{}, embedded input", name_of(side)), x);
  }
  void block(Side side, int k, const Tensor& input, const Tensor& output) override {
    const std::string name = model::block_name(config_, side, k);
    add(name + ", input", input);
    add(name + ", output", output);
  }
  void stack(Side side, const Tensor& y) override {
    add(fmt::format("{}, output of the stack", name_of(side)), y);
  }
  void add(const std::string& name, const Tensor& t) {
    const Tensor size = t.detach().abs();
    text_ += fmt::format("{:<48} {:>12.4g} {:>12.4g} {:>11}\n", name, size.mean().item<double>(),
                         size.max().item<double>(), count(count_nonfinite(t)));
  }
  const std::string& text() const { return text_; }

 private:
  const model::Config& config_;
  std::string text_;
};

nn::Loss compute(const Learner& learner, const run::TrainConfig& config, const data::Batch& shard,
                 nn::Pass pass, nn::Watcher& watcher) {
  if (learner.device().is_cpu()) ops::use_one_thread();
  pass.watcher = &watcher;
  const nn::ModelBatch batch = model_batch(config, shard, pass, learner.device());
  learner.parameters().gradients().zero_();
  const Autocast autocast(config.train.precision, learner.device());
  return learner.model().loss(batch, loss_spec(config.loss), pass);
}

std::string trouble_in_parameters(const nn::Parameters& parameters) {
  for (size_t i = 0; i < parameters.list().size(); ++i) {
    const std::string found = trouble(parameters[i], "parameter " + parameters.list()[i].name);
    if (!found.empty()) return found;
  }
  return "";
}

// The backward pass runs from the top down, so it reached the last parameter first.
std::string trouble_in_gradients(const nn::Parameters& parameters) {
  for (size_t i = parameters.list().size(); i-- > 0;) {
    const std::string found =
        trouble(parameters[i].grad(), "gradient of " + parameters.list()[i].name);
    if (!found.empty()) return found;
  }
  return "";
}

std::string trouble_in_shard(Learner& learner, const run::TrainConfig& config,
                             const data::Batch& shard, const nn::Pass& pass) {
  FirstTrouble watcher(config.model);
  const nn::Loss loss = compute(learner, config, shard, pass, watcher);
  watcher.note(loss.sum, "loss");
  if (!watcher.first().empty()) return watcher.first();
  loss.sum.backward();
  return trouble_in_gradients(learner.parameters());
}

// No later code checks ids and offsets before using them as indices.
void check_sentences(const std::vector<int32_t>& ids, const std::vector<int32_t>& offsets,
                     int64_t symbols, int64_t positions, const std::string& file) {
  require(!offsets.empty() && offsets.front() == 0 &&
              offsets.back() == static_cast<int64_t>(ids.size()),
          "{}: offsets do not begin at 0 or do not end after the {} ids", file, ids.size());
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const int64_t length = int64_t{offsets[i + 1]} - offsets[i];
    require(length >= 1 && length <= positions, "{}: a sentence has {} tokens, expected 1 to {}",
            file, length, positions);
  }
  for (const int32_t id : ids) {
    require(id >= 0 && id < symbols, "{}: id {} is not in the vocabulary of {}", file, id, symbols);
  }
}

void check_shard(const data::Batch& shard, const run::TrainConfig& config,
                 const std::string& file) {
  const model::Config& c = config.model;
  require(
      shard.source_offsets.size() > 1 && shard.source_offsets.size() == shard.target_offsets.size(),
      "{}: expected as many sources as targets, and at least one", file);
  // A model of one text has one table, for either side of the corpus.
  const bool has_two = c.kind == model::Kind::translation;
  const int64_t only = c.has_encoder() ? c.source_vocabulary : c.target_vocabulary;
  if (has_two || config.data.side == run::TextSide::source) {
    check_sentences(shard.source, shard.source_offsets, has_two ? c.source_vocabulary : only,
                    c.max_positions, file);
  }
  if (has_two || config.data.side == run::TextSide::target) {
    check_sentences(shard.target, shard.target_offsets, has_two ? c.target_vocabulary : only,
                    c.max_positions, file);
  }
}

uint64_t whole_number(const model::SafeTensors& file, const char* key) {
  const auto found = file.metadata().find(key);
  require(found != file.metadata().end(), "{}: its metadata has no \"{}\"", file.name(), key);
  const std::string& text = found->second;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc() && end == text.data() + text.size(),
          "{}: metadata \"{}\": expected a whole number, got \"{}\"", file.name(), key, text);
  return number;
}

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

Finding find_nonfinite(Learner& learner, const run::TrainConfig& config,
                       std::span<const data::Batch> batches, int64_t update) {
  const std::string parameter = trouble_in_parameters(learner.parameters());
  for (size_t b = 0; b < batches.size(); ++b) {
    const auto parts = learner.cut(batches[b]);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].size() == 0) continue;
      const nn::Pass pass = learner.pass(update, b, i);
      std::string found = trouble_in_shard(learner, config, parts[i], pass);
      if (found.empty()) continue;
      if (!parameter.empty()) found += "; before that, " + parameter;
      return {std::move(found), parts[i], pass};
    }
  }
  return {"only the sum of all gradients", batches[0], learner.pass(update, 0, 0)};
}

void write_bundle(const fs::path& path, const run::TrainConfig& config,
                  const run::Checkpoint& before, const Finding& finding, const std::string& lines,
                  FileSystem& system) {
  AtomicDirectory directory(path, /*replace=*/true, kBatchFile, system);
  replace_file(directory.path() / kConfigFile, to_toml(config), system);
  replace_file(directory.path() / "found.txt", finding.place + "\n" + lines + "\n", system);
  run::write_checkpoint(directory.path() / kCheckpointFile, config.model, before, system);
  const data::Batch& shard = finding.shard;
  const auto ids = [](const char* name, const std::vector<int32_t>& values) {
    return model::TensorBytes{
        name, model::Dtype::i32, {static_cast<int64_t>(values.size())}, bytes_of(values)};
  };
  model::write_safetensors(
      directory.path() / kBatchFile,
      {ids("source", shard.source), ids("source_offsets", shard.source_offsets),
       ids("target", shard.target), ids("target_offsets", shard.target_offsets)},
      {{"update", std::to_string(finding.pass.update)},
       {"shard", std::to_string(finding.pass.shard)}},
      system);
  directory.commit();
}

std::string replay(const fs::path& bundle) {
  require(fs::exists(bundle / kBatchFile),
          "{}: is not a replay bundle (it has no {}); `residual train` leaves one in the run "
          "directory when a loss is not finite",
          bundle.string(), kBatchFile);
  run::TrainConfig config;
  read_config(bundle / kConfigFile, config);
  check(config);
  Learner learner(config);
  learner.restore(run::read_checkpoint(bundle / kCheckpointFile, config.model));
  const auto file = model::SafeTensors::open(bundle / kBatchFile);
  const auto ids = [&](const char* name) {
    const auto values = file.at(name).values<int32_t>();
    return std::vector<int32_t>(values.begin(), values.end());
  };
  data::Batch shard{.source = ids("source"),
                    .target = ids("target"),
                    .source_offsets = ids("source_offsets"),
                    .target_offsets = ids("target_offsets")};
  check_shard(shard, config, file.name());
  nn::Pass pass = learner.pass(0, 0, 0);
  pass.update = whole_number(file, "update");
  pass.shard = whole_number(file, "shard");
  Statistics statistics(config.model);
  const nn::Loss loss = compute(learner, config, shard, pass, statistics);
  statistics.add("loss", loss.sum);
  loss.sum.backward();
  const auto& parameters = learner.parameters();
  for (size_t i = parameters.list().size(); i-- > 0;) {
    statistics.add("gradient of " + parameters.list()[i].name, parameters[i].grad());
  }
  return read_file(bundle / "found.txt") + "\n" + statistics.text();
}

}  // namespace residual::train
