#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interop/fairseq.h"
#include "nn/batch.h"
#include "nn/parameters.h"
#include "support/paths.h"
#include "text/vocabulary.h"

// tests/fixtures/fairseq/<name>-e2d2.safetensors: a small model of the authors' code, one batch,
// and what came out.
namespace residual::test {

class FairseqFixture {
 public:
  explicit FairseqFixture(const std::string& name)
      : file_(model::SafeTensors::open(fs::path(fixtures()) / "fairseq" /
                                       (name + "-e2d2.safetensors"))),
        config_(interop::fairseq_config(file_, {.prefix = "param."})) {}

  const model::Config& config() const { return config_; }

  Tensor tensor(const std::string& name) const {
    const auto& view = file_.at(name);
    if (view.dtype == model::Dtype::i64) {
      const auto values = view.values<int64_t>();
      return at::tensor(at::ArrayRef<int64_t>(values.data(), values.size())).view(view.shape);
    }
    const auto values = view.to_float();
    return at::tensor(at::ArrayRef<float>(values)).view(view.shape);
  }
  double number(const std::string& name) const { return tensor(name).item<double>(); }

  // Sets the parameters to those under `prefix`: "param." before training, "train.param." after.
  void load(nn::Parameters& parameters, const std::string& prefix) const {
    const at::NoGradGuard no_grad;
    const auto values = interop::fairseq_values(file_, config_, prefix);
    for (size_t i = 0; i < values.size(); ++i) {
      Tensor leaf = parameters[i];
      leaf.copy_(at::tensor(at::ArrayRef<float>(values[i])).view(parameters.list()[i].shape));
    }
  }
  // Each parameter's tensor under `prefix`, in our order: "grad." for gradients.
  std::vector<Tensor> parameters(const std::string& prefix) const {
    nn::Parameters made(config_);
    load(made, prefix);
    std::vector<Tensor> all;
    for (size_t i = 0; i < made.list().size(); ++i) all.push_back(made[i].detach());
    return all;
  }

  nn::ModelBatch batch() const {
    const Packed source = pack("batch.source"), target = pack("batch.target");
    return nn::translation_batch({source.ids, source.offsets}, {target.ids, target.offsets});
  }
  // The rows of a padded [sentence, place, ...] tensor that stand where `ids` has no padding.
  Tensor rows(const std::string& name, const std::string& ids) const {
    const Tensor padded = tensor(name);
    return padded.flatten(0, 1).index({kept(ids).flatten()});
  }

 private:
  struct Packed {
    std::vector<int32_t> ids, offsets = {0};
  };

  Tensor kept(const std::string& ids) const { return tensor(ids) != text::Vocabulary::kPad; }

  Packed pack(const std::string& name) const {
    const Tensor ids = tensor(name);
    Packed packed;
    for (int64_t s = 0; s < ids.size(0); ++s) {
      for (int64_t i = 0; i < ids.size(1); ++i) {
        const auto id = ids[s][i].item<int32_t>();
        if (id != text::Vocabulary::kPad) packed.ids.push_back(id);
      }
      packed.offsets.push_back(static_cast<int32_t>(packed.ids.size()));
    }
    return packed;
  }

  model::SafeTensors file_;
  model::Config config_;
};

}  // namespace residual::test
