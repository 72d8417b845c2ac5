#include "nn/transformer.h"

#include <utility>
#include <vector>

#include "base/random.h"
#include "model/positions.h"
#include "nn/blocks.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "schemes/make.h"

namespace residual::nn {
namespace {

using schemes::Side;

// What is added to embeddings: sinusoids of all places, or zeros for all of them.
Tensor position_table(const model::Config& config, const Tensor& like) {
  if (config.positions != model::Positions::sinusoidal)
    return at::zeros({1, config.width}, like.options().requires_grad(false));
  Tensor table = at::empty({config.max_positions, config.width}, at::kFloat);
  for (int64_t i = 0; i < config.max_positions; ++i) {
    model::sinusoid(i, {table[i].data_ptr<float>(), static_cast<size_t>(config.width)},
                    config.form);
  }
  return table.to(like.options());
}

// Every place with dropout has a number, so that each place has different random bits in a pass.
class Sites {
 public:
  Sites(const DropoutRates& rates, const Pass& pass, Side side)
      : rates_(rates), pass_(pass), stack_(side == Side::encoder ? 0 : 1) {}

  ops::Dropout embedding() const { return site(rates_.residual, -1, 0); }
  BlockDropout block(int k) const {
    return {.output = site(rates_.residual, k, 0),
            .attention = site(rates_.attention, k, 1),
            .activation = site(rates_.activation, k, 2)};
  }

 private:
  ops::Dropout site(double rate, int k, uint64_t which) const {
    if (!pass_.training) return {};
    const uint64_t number = (static_cast<uint64_t>(k + 1) * 4 + which) * 2 + stack_;
    const Random update(pass_.seed, pass_.update);
    return {.rate = rate, .key = Random(update.bits(pass_.shard)).bits(number)};
  }

  const DropoutRates& rates_;
  const Pass& pass_;
  uint64_t stack_;
};

class WatchedBlocks final : public schemes::Blocks<Arithmetic> {
 public:
  WatchedBlocks(const Blocks& blocks, Side side, Watcher& watcher)
      : Blocks(blocks.size(), blocks.per_layer()),
        blocks_(blocks),
        side_(side),
        watcher_(watcher) {}

  LazyRows operator()(int k, const LazyRows& x) const override {
    LazyRows output = blocks_(k, x);
    watcher_.block(side_, k, x.value(), output.branch().f);
    return output;
  }

 private:
  const Blocks& blocks_;
  Side side_;
  Watcher& watcher_;
};

// The engine of autograd runs the operators of a pass in the reverse of the order in which they
// were made. When the gradient of a block's input is known, the block is therefore done.
class AnnouncedBlocks final : public schemes::Blocks<Arithmetic> {
 public:
  AnnouncedBlocks(const Blocks& blocks, Side side, BackwardWatcher& watcher)
      : Blocks(blocks.size(), blocks.per_layer()),
        blocks_(blocks),
        side_(side),
        watcher_(watcher) {}

  LazyRows operator()(int k, const LazyRows& x) const override {
    if (x.value().requires_grad()) {
      x.value().register_hook(
          [side = side_, k, &watcher = watcher_](const Tensor&) { watcher.passed(side, k); });
    }
    return blocks_(k, x);
  }

 private:
  const Blocks& blocks_;
  Side side_;
  BackwardWatcher& watcher_;
};

}  // namespace

struct Transformer::Stack {
  Side side;
  int per_layer;
  Tensor embedding;
  std::unique_ptr<schemes::Scheme<Arithmetic>> scheme;
  std::vector<BlockWeights> blocks;
};

// Embeds ids into the stack's input x_1.
struct Transformer::Ids {
  const Tensor& ids;
  const Tensor& positions;
};

Transformer::Transformer(const Parameters& parameters, const DropoutRates& rates)
    : parameters_(parameters), rates_(rates) {
  const model::Config& config = parameters.config();
  model::check(config);
  positions_ = position_table(config, parameters.values());
  turns_ = rotations(config, parameters.values());
  if (config.has_encoder()) encoder_ = make_stack(Side::encoder);
  if (config.has_decoder()) decoder_ = make_stack(Side::decoder);
}

Transformer::~Transformer() = default;
Transformer::Transformer(Transformer&&) noexcept = default;

std::unique_ptr<Transformer::Stack> Transformer::make_stack(Side side) const {
  const model::Config& config = parameters_.config();
  const schemes::Stack shape = model::stack(config, side);
  const bool encoder = side == Side::encoder;
  Arithmetic arithmetic(parameters_, encoder ? "encoder.residual." : "decoder.residual.");
  auto stack = std::make_unique<Stack>(
      Stack{.side = side,
            .per_layer = shape.blocks_per_layer,
            .embedding = parameters_.at(encoder ? model::source_embedding(config)
                                                : model::target_embedding(config)),
            .scheme = schemes::make(arithmetic, shape, config.residual),
            .blocks = {}});
  for (int k = 0; k < shape.blocks(); ++k) {
    stack->blocks.push_back(find_block(parameters_, side, k));
  }
  return stack;
}

Tensor Transformer::embed(const Stack& stack, const Ids& in, const ops::Dropout& dropout) const {
  const model::Config& config = parameters_.config();
  const bool is_learned = config.positions == model::Positions::learned;
  const Tensor& table =
      is_learned ? parameters_.at(model::position_embedding(stack.side)) : positions_;
  const bool is_one_row = config.positions == model::Positions::rotary;
  const Tensor places = is_one_row ? at::zeros_like(in.positions) : in.positions;
  const double factor = config.embedding_factor();
  if (!config.has_bert_ends()) {
    return ops::embed(in.ids, places, stack.embedding, table, dropout, factor);
  }
  const Tensor x = ops::embed(in.ids, places, stack.embedding, table, {}, factor);
  const auto norm = find_norm(parameters_, model::kEmbeddingNorm, schemes::kNormEpsilon);
  return ops::reference::dropout(ops::norm(x, norm), dropout);
}

Tensor Transformer::run(const Stack& stack, const Ids& in, StackInput input, const Pass& pass,
                        bool calibrate) const {
  const Sites sites(rates_, pass, stack.side);
  input.form = block_form(parameters_.config());
  if (turns_.defined()) input.turns = turns_.index_select(0, in.positions);
  input.recompute = pass.recompute;
  const Tensor x = embed(stack, in, sites.embedding());
  const StackBlocks blocks(stack.blocks, stack.per_layer, std::move(input),
                           [&sites](int k) { return sites.block(k); });
  if (calibrate) stack.scheme->calibrate(x, blocks);
  if (pass.backward != nullptr) {
    const AnnouncedBlocks announced(blocks, stack.side, *pass.backward);
    return stack.scheme->forward(x, announced).value();
  }
  if (pass.watcher == nullptr) return stack.scheme->forward(x, blocks).value();

  pass.watcher->embedded(stack.side, x);
  const WatchedBlocks watched(blocks, stack.side, *pass.watcher);
  Tensor y = stack.scheme->forward(x, watched).value();
  pass.watcher->stack(stack.side, y);
  return y;
}

Tensor Transformer::run_encoder(const ModelBatch& batch, const Pass& pass, bool calibrate) const {
  return run(*encoder_, {batch.source, batch.source_positions}, {.rows = batch.sources}, pass,
             calibrate);
}

Tensor Transformer::run_all(const ModelBatch& batch, const Pass& pass, bool calibrate) const {
  Tensor memory;
  if (encoder_) memory = run_encoder(batch, pass, calibrate);
  if (!decoder_) return memory.index_select(0, batch.selected);
  return run(*decoder_, {batch.input, batch.input_positions},
             {.rows = batch.inputs,
              .visibility = ops::Visibility::causal,
              .memory = memory,
              .memory_rows = batch.sources},
             pass, calibrate);
}

Tensor Transformer::encode(const ModelBatch& batch, const Pass& pass) const {
  return run_encoder(batch, pass, /*calibrate=*/false);
}

Tensor Transformer::forward(const ModelBatch& batch, const Pass& pass) const {
  const Tensor y = run_all(batch, pass, /*calibrate=*/false);
  const model::Config& config = parameters_.config();
  if (!config.has_bert_ends()) return y;
  const Linear head = find_linear(parameters_, model::kHead);
  return ops::norm(activate(config.activation, ops::linear(y, head.weight, head.bias)),
                   find_norm(parameters_, model::kHeadNorm, schemes::kNormEpsilon));
}

const Tensor& Transformer::output_embedding() const {
  return parameters_.at(model::output_embedding(parameters_.config()));
}

Tensor Transformer::logits(const ModelBatch& batch, const Pass& pass) const {
  const Tensor logits = at::linear(forward(batch, pass), output_embedding());
  return parameters_.config().has_output_bias() ? logits + parameters_.at(model::kOutputBias)
                                                : logits;
}

Loss Transformer::loss(const ModelBatch& batch, const ops::LossSpec& spec, const Pass& pass) const {
  Tensor rows = forward(batch, pass), output = output_embedding();
  if (parameters_.config().has_output_bias()) {
    // A column of ones meets the biases. Those of a language model only mark the symbols that are
    // never given, and are not learned.
    const Tensor& bias = parameters_.at(model::kOutputBias);
    const bool is_learned = parameters_.config().kind == model::Kind::masked;
    rows = at::cat({rows, at::ones({rows.size(0), 1}, rows.options())}, 1);
    output = at::cat({output, (is_learned ? bias : bias.detach()).unsqueeze(1)}, 1);
  }
  const auto sums = ops::output_loss(rows, output, batch.target, spec);
  return {sums.loss, sums.nll.item<double>(), batch.predictions()};
}

void Transformer::calibrate(const ModelBatch& batch, const Pass& pass) {
  if (!(encoder_ && encoder_->scheme->calibrates()) &&
      !(decoder_ && decoder_->scheme->calibrates())) {
    return;
  }
  const at::NoGradGuard no_grad;
  run_all(batch, pass, /*calibrate=*/true);
}

}  // namespace residual::nn
