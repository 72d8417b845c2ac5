#include "train/learner.h"

#include <ATen/Context.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "ops/mode.h"
#include "ops/threads.h"
#include "train/autocast.h"
#include "train/ranks/device_slices.h"
#include "train/ranks/ranks_module.h"
#include "train/ranks/stages.h"
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

std::span<float> span(const Tensor& flat) {
  return {flat.data_ptr<float>(), static_cast<size_t>(flat.numel())};
}

// The average of the parameters in their place, in all processes, while the object lives.
class Averaged {
 public:
  // `gather` completes the values in all processes.
  Averaged(Optimizer& optimizer, Tensor values, std::function<void(const Tensor&)> gather)
      : optimizer_(optimizer), values_(std::move(values)), gather_(std::move(gather)) {
    exchange();
  }
  ~Averaged() noexcept(false) {
    // An exception under way comes from here or ends the run; the values do not matter any more.
    if (std::uncaught_exceptions() == exceptions_) exchange();
  }
  Averaged(const Averaged&) = delete;
  Averaged& operator=(const Averaged&) = delete;

 private:
  void exchange() {
    if (!optimizer_.average().defined()) return;
    optimizer_.exchange_average(values_);
    gather_(values_);
  }

  Optimizer& optimizer_;
  Tensor values_;
  std::function<void(const Tensor&)> gather_;
  int exceptions_ = std::uncaught_exceptions();
};

// Reports the progress of a worker's backward pass.
class BackwardProgress final : public nn::BackwardWatcher {
 public:
  BackwardProgress(const model::Config& config, GradientSum& sum, size_t worker)
      : config_(config), sum_(sum), worker_(worker) {}
  void passed(schemes::Side side, int k) override {
    sum_.passed(worker_, stage_of_block(config_, side, k));
  }

 private:
  const model::Config& config_;
  GradientSum& sum_;
  size_t worker_;
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
      return nn::language_batch(text, device, model::start_symbol(config.model));
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

Learner::Learner(const run::TrainConfig& config, const Peers& peers,
                 std::unique_ptr<DeviceLink> link)
    : config_(config),
      peers_(peers),
      device_(device_of(config.train.device)),
      link_(std::move(link)) {
  if (!device_.is_cpu() && peers.size() > 1 && !link_) {
    link_ = open_device_link(peers, device_.has_index() ? device_.index() : 0);
  }
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
  slices_.emplace(static_cast<size_t>(parameters().values().numel()), peers.rank(), peers.size());
  stages_ = bucket_stages(parameters(), *slices_);
  optimizer_ = std::make_unique<Optimizer>(config.optimizer, *slices_, parameters().values());
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

run::Sums Learner::run_worker(size_t w, std::span<const Shard> parts, double loss_scale,
                              GradientSum* sum) {
  if (device_.is_cpu()) ops::use_one_thread();
  const Worker& worker = workers_[w];
  worker.parameters->gradients().zero_();
  std::optional<BackwardProgress> progress;
  if (sum != nullptr) progress.emplace(config_.model, *sum, w);
  run::Sums sums;
  for (size_t i = 0; i < parts.size(); ++i) {
    const data::Batch& shard = parts[i].batch;
    nn::Pass pass = parts[i].pass;
    if (shard.size() == 0) continue;
    // Only the backward pass of the last shard makes a gradient final.
    if (progress && i + 1 == parts.size()) pass.backward = &*progress;
    const nn::ModelBatch batch = model_batch(config_, shard, pass, device_);
    nn::Loss loss;
    {
      const Autocast autocast(config_.train.precision, device_);
      loss = worker.model->loss(batch, loss_spec(config_.loss), pass);
    }
    sums.add(sums_of(loss, shard));
    (loss_scale == 1 ? loss.sum : loss.sum * loss_scale).backward();
  }
  if (sum != nullptr) sum->passed(w, last_stage(config_.model));
  return sums;
}

// Returns the sums of all processes' workers. With several processes, the gradients' own slices are
// then the sums over all workers.
std::vector<run::Sums> Learner::run_workers(const std::vector<std::vector<Shard>>& parts,
                                            double loss_scale) {
  std::optional<GradientSum> sum;
  std::optional<Peers::InBackground> exchange;
  if (peers_.size() > 1 && !link_) {
    std::vector<std::span<float>> own;
    for (const auto& worker : workers_) own.push_back(span(worker.parameters->gradients()));
    const bool is_direct = parts.size() == static_cast<size_t>(peers_.size());
    sum.emplace(*slices_, std::move(own), stages_, peers_.size(),
                is_direct ? GradientSum::Route::direct : GradientSum::Route::chain);
    exchange.emplace(peers_, *sum);
  }
  std::vector<run::Sums> sums(parts.size());
  const size_t first = peers_.first(parts.size());
  parallel_for(static_cast<int64_t>(workers_.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto w = static_cast<size_t>(begin); w < static_cast<size_t>(end); ++w) {
      sums[first + w] = run_worker(w, parts[first + w], loss_scale, sum ? &*sum : nullptr);
    }
  });
  peers_.complete(std::span(sums));
  if (exchange) exchange->wait();
  if (link_) sum_slices(peers_, *link_, *slices_, workers_[0].parameters->gradients());
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
  const std::vector<run::Sums> sums = run_workers(parts, step.loss_scale);
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
  gather(values);
  return result;
}

void Learner::gather(const Tensor& values) const {
  if (peers_.size() == 1) return;
  if (link_) {
    gather_slices(peers_, *link_, *slices_, values);
  } else {
    peers_.gather(*slices_, span(values));
  }
}

run::Sums Learner::evaluate(std::span<const data::Batch> batches) {
  const Averaged averaged(*optimizer_, parameters().values(),
                          [this](const Tensor& values) { gather(values); });
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

// Takes a packed buffer into a flat one, or into this process's slices of it.
void Learner::unpack(std::span<const float> from, const Tensor& to) const {
  if (from.empty()) return;
  Tensor here = at::zeros({parameters().values().numel()}, at::kFloat);
  for (size_t i = 0; i < parameters().list().size(); ++i) {
    const auto size = static_cast<size_t>(parameters().list()[i].size());
    std::memcpy(here.data_ptr<float>() + parameters().offset(i), from.data(), size * sizeof(float));
    from = from.subspan(size);
  }
  const at::NoGradGuard no_grad;
  if (to.numel() == here.numel()) {
    to.copy_(here);
    return;
  }
  for (size_t b = 0; b < slices_->buckets(); ++b) {
    const Slices::Range own = slices_->own(b);
    const auto size = static_cast<int64_t>(own.size());
    to.narrow(0, static_cast<int64_t>(slices_->offset(b)), size)
        .copy_(here.narrow(0, static_cast<int64_t>(own.begin), size));
  }
}

// Joins the slices of all processes in process 0.
std::vector<float> Learner::collected(const Tensor& slices) const {
  if (!slices.defined()) return {};
  if (peers_.size() == 1) return packed(slices);
  const Tensor all = peers_.leads() ? at::empty({parameters().values().numel()}) : Tensor();
  const Tensor here = slices.to(at::kCPU);
  peers_.collect(*slices_, span(here), all.defined() ? span(all) : std::span<float>());
  return packed(all);
}

run::Checkpoint Learner::checkpoint() const {
  return {.values = peers_.leads() ? parameter_values() : std::vector<float>(),
          .m = collected(optimizer_->m()),
          .v = collected(optimizer_->v()),
          .average = collected(optimizer_->average())};
}

std::vector<float> Learner::model_values() const {
  if (optimizer_->average().defined()) return collected(optimizer_->average());
  return peers_.leads() ? parameter_values() : std::vector<float>();
}

void Learner::collect_gradient() {
  if (peers_.size() == 1) return;
  const Tensor gradient = workers_[0].parameters->gradients();
  const Tensor here = gradient.to(at::kCPU);  // itself, if it is there
  const std::span<float> all = span(here);
  std::vector<float> own(slices_->own_floats());
  for (size_t b = 0; b < slices_->buckets(); ++b) {
    const Slices::Range range = slices_->own(b);
    std::copy_n(all.data() + range.begin, range.size(), own.data() + slices_->offset(b));
  }
  peers_.collect(*slices_, own, all);
  if (!gradient.is_cpu()) gradient.copy_(here);
}

void Learner::restore(run::Checkpoint checkpoint) {
  require(!peers_.leads() || checkpoint.average.empty() != config_.optimizer.averages(),
          "optimizer.average_decay: is {}, but the checkpoint has {} average of the parameters",
          config_.optimizer.average_decay, checkpoint.average.empty() ? "no" : "an");
  // One buffer after another: each is there as a whole only while its slices are taken.
  const auto take = [&](std::vector<float>& values, const Tensor& to) {
    if (peers_.size() > 1) peers_.spread(values);
    unpack(values, to);
    values = {};
  };
  take(checkpoint.values, parameters().values());
  take(checkpoint.m, optimizer_->m());
  take(checkpoint.v, optimizer_->v());
  if (config_.optimizer.averages()) take(checkpoint.average, optimizer_->average());
}

}  // namespace residual::train
