#include "run/checkpoint.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "model/parameters.h"

namespace residual::run {
namespace {

constexpr const char* kFormat = "residual checkpoint 1";
constexpr const char* kModel = "model.";
constexpr const char* kM = "adam.m.";
constexpr const char* kV = "adam.v.";
constexpr const char* kAverage = "average.";
constexpr const char* kExtension = ".safetensors";

using Metadata = std::map<std::string, std::string>;

// The checksum covers the state and every tensor's name and bytes, in the order of the names.
std::string checksum_of(const std::string& state,
                        const std::map<std::string, std::string_view>& tensors) {
  Checksum sum;
  sum.add(state);
  for (const auto& [name, bytes] : tensors) {
    sum.add(name);
    sum.add(bytes);
  }
  return to_hex(sum.value());
}

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

const std::string& entry(const model::SafeTensors& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  require(found != file.metadata().end(), "{}: is not a checkpoint: its header has no \"{}\"",
          file.name(), key);
  return found->second;
}

State check(const model::SafeTensors& file) {
  const std::string& format = entry(file, "format");
  require(format == kFormat, "{}: is a \"{}\", expected a \"{}\"", file.name(), format, kFormat);
  std::map<std::string, std::string_view> tensors;
  for (const auto& [name, view] : file.tensors()) tensors[name] = view.bytes;
  const std::string& state = entry(file, "state");
  require(checksum_of(state, tensors) == entry(file, "checksum"),
          "{}: is damaged: its content does not match its checksum", file.name());
  State read;
  read_toml(state, file.name(), [&](ConfigVisitor& visit) { fields(visit, read); });
  return read;
}

// Reads the tensors `prefix`<name> into one flat buffer.
std::vector<float> gather(const model::SafeTensors& file, const std::string& prefix,
                          const std::vector<model::Parameter>& parameters) {
  std::vector<float> all;
  for (const auto& p : parameters) {
    const auto& view = file.at(prefix + p.name);
    require(view.shape == p.shape, "{}: {} has shape [{}], the model's is [{}]", file.name(),
            view.name, fmt::join(view.shape, ", "), fmt::join(p.shape, ", "));
    const auto values = view.values<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace

std::string checkpoint_name(int64_t update) { return fmt::format("{:09}{}", update, kExtension); }

void write_checkpoint(const fs::path& path, const model::Config& config, const Checkpoint& c,
                      FileSystem& system) {
  std::vector<model::TensorBytes> tensors;
  std::map<std::string, std::string_view> sums;
  size_t offset = 0;
  for (const auto& p : model::parameters(config)) {
    const auto size = static_cast<size_t>(p.size());
    for (const auto& [prefix, buffer] :
         {std::pair{kModel, &c.values}, {kM, &c.m}, {kV, &c.v}, {kAverage, &c.average}}) {
      if (buffer->empty()) continue;
      const auto bytes = bytes_of(std::span(*buffer).subspan(offset, size));
      tensors.push_back({prefix + p.name, model::Dtype::f32, p.shape, bytes});
      sums[prefix + p.name] = bytes;
    }
    offset += size;
  }
  const std::string state = to_toml(c.state);
  model::write_safetensors(
      path, std::move(tensors),
      Metadata{{"format", kFormat}, {"state", state}, {"checksum", checksum_of(state, sums)}},
      system);
}

Checkpoint read_checkpoint(const fs::path& path, const model::Config& config) {
  const auto file = model::SafeTensors::open(path);
  Checkpoint c;
  c.state = check(file);
  const auto parameters = model::parameters(config);
  const bool averages = model_prefix(file) == kAverage;
  const size_t expected = (averages ? 4 : 3) * parameters.size();
  require(file.tensors().size() == expected, "{}: has {} tensors, a {} model of this size has {}",
          file.name(), file.tensors().size(), config.residual.name, expected);
  c.values = gather(file, kModel, parameters);
  c.m = gather(file, kM, parameters);
  c.v = gather(file, kV, parameters);
  if (averages) c.average = gather(file, kAverage, parameters);
  return c;
}

State verify_checkpoint(const fs::path& path) { return check(model::SafeTensors::open(path)); }

std::string model_prefix(const model::SafeTensors& checkpoint) {
  const bool averages = std::ranges::any_of(
      checkpoint.tensors(), [](const auto& tensor) { return tensor.first.starts_with(kAverage); });
  return averages ? kAverage : kModel;
}

std::vector<model::TensorBytes> model_tensors(const model::SafeTensors& checkpoint) {
  const std::string prefix = model_prefix(checkpoint);
  std::vector<model::TensorBytes> found;
  for (const auto& [name, view] : checkpoint.tensors()) {
    if (!name.starts_with(prefix)) continue;
    found.push_back({name.substr(prefix.size()), view.dtype, view.shape, view.bytes});
  }
  return found;
}

CheckpointStore::CheckpointStore(fs::path directory, model::Config config, FileSystem& system)
    : directory_(std::move(directory)), config_(std::move(config)), system_(system) {}

void CheckpointStore::write(const Checkpoint& checkpoint) const {
  write_checkpoint(directory_ / checkpoint_name(checkpoint.state.update), config_, checkpoint,
                   system_);
}

std::map<int64_t, fs::path> CheckpointStore::list() const {
  std::map<int64_t, fs::path> found;
  if (!fs::exists(directory_)) return found;
  for (const auto& item : fs::directory_iterator(directory_)) {
    const std::string name = item.path().stem();
    const bool number = name.size() >= 9 && name.size() <= 18 &&
                        std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
    if (number && item.path().extension() == kExtension) found[std::stoll(name)] = item.path();
  }
  return found;
}

std::optional<Checkpoint> CheckpointStore::newest() const {
  const auto all = list();
  std::string reason;
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    try {
      return read_checkpoint(it->second, config_);
    } catch (const Error& error) {
      reason = error.what();
      log::warn("{}; trying the previous checkpoint", reason);
    }
  }
  require(all.empty(), "none of the {} checkpoints can be used; the oldest: {}", all.size(),
          reason);
  return std::nullopt;
}

void CheckpointStore::prune(int64_t newest, int64_t keep_last,
                            const std::set<int64_t>& keep) const {
  auto all = list();
  all.erase(all.upper_bound(newest), all.end());
  for (int64_t kept = 0; kept < keep_last && !all.empty(); ++kept) all.erase(std::prev(all.end()));
  for (const auto& [update, path] : all) {
    if (!keep.contains(update)) system_.remove(path);
  }
}

}  // namespace residual::run
