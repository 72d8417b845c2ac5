#include "train/learner.h"

#include <ATen/Context.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "ops/mode.h"
#include "ops/threads.h"
#include "train/autocast.h"
#include "train/shards.h"

namespace residual::train {
namespace {

constexpr uint64_t kMaskKey = 0x6d61736b73212121;  // separates masking from dropout

run::Sums sums_of(const nn::Loss& loss, const data::Batch& batch) {
  return {.tokens = loss.predictions,
          .source_tokens = static_cast<int64_t>(batch.source.size()),
          .sentences = batch.size(),
          .loss = loss.sum.item<double>(),
          .nll = loss.nll};
}

// Swaps the contents of two buffers while the object lives; either may be undefined. It swaps piece
// by piece, so that validation with the average needs no second copy of the model.
class Exchanged {
 public:
  Exchanged(Tensor a, Tensor b) : a_(std::move(a)), b_(std::move(b)) { exchange(); }
  ~Exchanged() { exchange(); }
  Exchanged(const Exchanged&) = delete;
  Exchanged& operator=(const Exchanged&) = delete;

 private:
  void exchange() {
    if (!a_.defined() || !b_.defined()) return;
    const at::NoGradGuard no_grad;
    for (int64_t begin = 0; begin < a_.numel(); begin += kPiece) {
      const int64_t size = std::min(kPiece, a_.numel() - begin);
      const Tensor a = a_.narrow(0, begin, size), b = b_.narrow(0, begin, size);
      const Tensor before = a.clone();
      a.copy_(b);
      b.copy_(before);
    }
  }
  static constexpr int64_t kPiece = 1 << 20;
  Tensor a_, b_;
};

}  // namespace

at::Device device_of(const std::string& name) {
  if (name == "cpu") return at::kCPU;
  require(at::hasCUDA(),
          "train.device: is {}, but this LibTorch finds no CUDA device; use cpu, or build "
          "against a LibTorch with CUDA",
          name);
  try {
    return at::Device(name);
  } catch (const c10::Error&) {
    fail("train.device: expected cpu, cuda or cuda:N, got \"{}\"", name);
  }
}

nn::ModelBatch model_batch(const run::TrainConfig& config, const data::Batch& batch,
                           const nn::Pass& pass, at::Device device) {
  const nn::Sentences source{batch.source, batch.source_offsets};
  const nn::Sentences target{batch.target, batch.target_offsets};
  const nn::Sentences& text = config.data.side == run::TextSide::source ? source : target;
  switch (config.model.kind) {
    case model::Kind::translation:
      return nn::translation_batch(source, target, device);
    case model::Kind::language:
      return nn::language_batch(text, device);
    case model::Kind::masked:
      break;
  }
  const Random update(pass.seed ^ kMaskKey, pass.update);
  return nn::masked_batch(text, config.model.source_vocabulary, config.loss.masked_share,
                          Random(update.bits(pass.shard)), device);
}

ops::LossSpec loss_spec(const run::LossConfig& config) {
  return {.label_smoothing = config.label_smoothing, .smoothing = config.smoothing};
}

Learner::Learner(const run::TrainConfig& config, const Peers& peers)
    : config_(config), peers_(peers), device_(device_of(config.train.device)) {
  ops::set_mode(config.train.ops == run::Operators::fused ? ops::Mode::fused
                                                          : ops::Mode::reference);
  const nn::DropoutRates rates{.residual = config.dropout.residual,
                               .attention = config.dropout.attention,
                               .activation = config.dropout.activation};
  auto first = std::make_unique<nn::Parameters>(config.model, at::kFloat, device_);
  first->initialise(static_cast<uint64_t>(config.train.seed));
  const auto workers = static_cast<size_t>(config.train.workers);
  for (size_t w = peers.first(workers); w < peers.end(workers); ++w) {
    auto parameters = first ? std::move(first)
                            : std::make_unique<nn::Parameters>(workers_[0].parameters->replica());
    auto model = std::make_unique<nn::Transformer>(*parameters, rates);
    workers_.push_back({std::move(parameters), std::move(model)});
  }
  optimizer_ = std::make_unique<Optimizer>(config.optimizer, parameters().values());
}

std::vector<data::Batch> Learner::cut(const data::Batch& batch) const {
  return shards(batch, shard_count(batch, config_.train.workers, config_.batch.pass_tokens));
}

nn::Pass Learner::pass(int64_t update, size_t batch, size_t shard) const {
  return {.training = true,
          .seed = static_cast<uint64_t>(config_.train.seed),
          .update = static_cast<uint64_t>(update),
          .shard = uint64_t{batch} << 32 | shard,
          .recompute = config_.train.recompute};
}

run::Sums Learner::run_worker(size_t w, std::span<const Shard> parts, double loss_scale) {
  if (device_.is_cpu()) ops::use_one_thread();
  const Worker& worker = workers_[w];
  worker.parameters->gradients().zero_();
  run::Sums sums;
  for (const auto& [shard, pass] : parts) {
    if (shard.size() == 0) continue;
    const nn::ModelBatch batch = model_batch(config_, shard, pass, device_);
    nn::Loss loss;
    {
      const Autocast autocast(config_.train.precision, device_);
      loss = worker.model->loss(batch, loss_spec(config_.loss), pass);
    }
    sums.add(sums_of(loss, shard));
    (loss_scale == 1 ? loss.sum : loss.sum * loss_scale).backward();
  }
  return sums;
}

UpdateResult Learner::update(std::span<const data::Batch> batches, const UpdateStep& step) {
  const auto count = static_cast<size_t>(config_.train.workers);  // workers of all processes
  std::vector<std::vector<Shard>> parts(count);                   // parts of each worker
  for (size_t b = 0; b < batches.size(); ++b) {
    auto all = cut(batches[b]);
    for (size_t i = 0; i < all.size(); ++i) {
      parts[i * count / all.size()].push_back({std::move(all[i]), pass(step.number, b, i)});
    }
  }
  std::vector<run::Sums> sums(count);
  const size_t first = peers_.first(count);
  parallel_for(static_cast<int64_t>(workers_.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto w = static_cast<size_t>(begin); w < static_cast<size_t>(end); ++w) {
      sums[first + w] = run_worker(w, parts[first + w], step.loss_scale);
    }
  });
  peers_.complete(std::span(sums));
  UpdateResult result{.sums = {.updates = 1}};
  for (const auto& part : sums) result.sums.add(part);

  std::vector<Tensor> gradients;
  for (const auto& worker : workers_) gradients.push_back(worker.parameters->gradients());
  // Workers differentiate sums, not means: only here is the number of predictions of all workers
  // known, and a mean of means would weight short shards too much.
  const double predictions = static_cast<double>(result.sums.tokens);
  const double norm = optimizer_->reduce(gradients, 1 / (predictions * step.loss_scale), peers_);
  result.sums.gradient_norm = norm;
  result.finite = std::isfinite(result.sums.loss) && std::isfinite(norm);
  if (!result.finite) return result;
  Tensor values = parameters().values();
  optimizer_->step(values, gradients[0],
                   {.learning_rate = step.learning_rate,
                    .gradient_scale = clip_factor(config_.optimizer.clip_norm, norm),
                    .number = step.number});
  return result;
}

run::Sums Learner::evaluate(std::span<const data::Batch> batches) {
  const Exchanged averaged(parameters().values(), optimizer_->average());
  std::vector<run::Sums> sums(batches.size());
  const size_t first = peers_.first(batches.size());
  const size_t own = peers_.end(batches.size()) - first;
  parallel_for(static_cast<int64_t>(own), 1, [&](int64_t begin, int64_t end) {
    const at::NoGradGuard no_grad;
    if (device_.is_cpu()) ops::use_one_thread();
    for (size_t b = first + static_cast<size_t>(begin); b < first + static_cast<size_t>(end); ++b) {
      const nn::Pass pass{.seed = static_cast<uint64_t>(config_.train.seed), .shard = b};
      const nn::ModelBatch batch = model_batch(config_, batches[b], pass, device_);
      const Autocast autocast(config_.train.precision, device_);
      sums[b] = sums_of(model().loss(batch, loss_spec(config_.loss), pass), batches[b]);
    }
  });
  peers_.complete(std::span(sums));
  run::Sums all;
  for (const auto& part : sums) all.add(part);
  return all;
}

void Learner::calibrate(const data::Batch& batch) {
  if (device_.is_cpu()) ops::use_one_thread();
  const nn::Pass pass = this->pass(/*update=*/0, 0, 0);
  workers_[0].model->calibrate(model_batch(config_, batch, pass, device_), pass);
  if (optimizer_->average().defined()) optimizer_->average().copy_(parameters().values().detach());
}

std::vector<float> Learner::packed(const Tensor& flat) const {
  if (!flat.defined()) return {};
  const Tensor here = flat.to(at::kCPU);
  const float* from = here.data_ptr<float>();
  std::vector<float> to;
  for (size_t i = 0; i < parameters().list().size(); ++i) {
    const float* begin = from + parameters().offset(i);
    to.insert(to.end(), begin, begin + parameters().list()[i].size());
  }
  return to;
}

void Learner::unpack(std::span<const float> from, const Tensor& flat) const {
  if (!flat.defined()) return;
  Tensor here = at::zeros({flat.numel()}, at::kFloat);
  for (size_t i = 0; i < parameters().list().size(); ++i) {
    const auto size = static_cast<size_t>(parameters().list()[i].size());
    std::memcpy(here.data_ptr<float>() + parameters().offset(i), from.data(), size * sizeof(float));
    from = from.subspan(size);
  }
  const at::NoGradGuard no_grad;
  flat.copy_(here);
}

run::Checkpoint Learner::checkpoint() const {
  return {.values = packed(parameters().values()),
          .m = packed(optimizer_->m()),
          .v = packed(optimizer_->v()),
          .average = packed(optimizer_->average())};
}

std::vector<float> Learner::model_values() const {
  const Tensor& average = optimizer_->average();
  return packed(average.defined() ? average : parameters().values());
}

void Learner::restore(const run::Checkpoint& checkpoint) {
  require(checkpoint.average.empty() != config_.optimizer.averages(),
          "optimizer.average_decay: is {}, but the checkpoint has {} average of the parameters",
          config_.optimizer.average_decay, checkpoint.average.empty() ? "no" : "an");
  unpack(checkpoint.values, parameters().values());
  unpack(checkpoint.m, optimizer_->m());
  unpack(checkpoint.v, optimizer_->v());
  unpack(checkpoint.average, optimizer_->average());
}

}  // namespace residual::train
