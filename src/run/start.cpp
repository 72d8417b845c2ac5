#include "run/start.h"

#include <fmt/format.h>

#include "base/error.h"
#include "model/parameters.h"

namespace residual::run {
namespace {

void require_same_model(const model::Directory& model, const TrainConfig& config) {
  TrainConfig there = config;
  there.model = model.description().model;
  there.model.max_positions =
      config.model
          .max_positions;  // positions are computed, so no parameter's shape depends on them
  std::string list;
  for (const auto& d : differences(there, config)) {
    list += fmt::format("\n  {}: is {} there, {} here", d.key, d.before, d.now);
  }
  require(list.empty(), "{}: the run cannot start from this model, whose architecture differs:{}",
          model.path().string(), list);
}

}  // namespace

bool have_same_symbols(const text::Vocabulary& a, const text::Vocabulary& b) {
  if (a.size() != b.size()) return false;
  for (int32_t id = 0; id < a.size(); ++id) {
    if (a.symbol(id) != b.symbol(id)) return false;
  }
  return true;
}

std::vector<float> start_values(const TrainConfig& config, const Corpora& corpora) {
  const auto model = model::Directory::open(config.train.start_from);
  model::require_trainable(model.description().model, "trained");
  const model::Description here = corpora.description(config);
  const std::pair<text::Vocabulary, std::string> sides[] = {
      {model.source_vocabulary(), here.source_vocabulary},
      {model.target_vocabulary(), here.target_vocabulary}};
  for (const auto& [vocabulary, file] : sides) {
    require(have_same_symbols(vocabulary, corpora.vocabulary(file)),
            "{}: is not the vocabulary of {}; prepare the text with `residual prepare --like {}`",
            (corpora.directory() / file).string(), model.path().string(), config.train.start_from);
  }
  require_same_model(model, config);
  std::vector<float> values;
  for (const auto& p : model::parameters(config.model)) {
    const model::TensorView& tensor = model.parameter(p.name);
    require(tensor.dtype != model::Dtype::i8, "{}: is int8; start from the model it was made from",
            model.path().string());
    const auto read = tensor.to_float();
    values.insert(values.end(), read.begin(), read.end());
  }
  return values;
}

}  // namespace residual::run
