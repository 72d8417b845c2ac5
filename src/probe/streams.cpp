#include "probe/streams.h"

#include "probe/stream_arithmetic.h"
#include "schemes/make.h"

namespace residual::probe {
namespace {

class GivenBlocks final : public schemes::Blocks<StreamArithmetic> {
 public:
  // `notes`: one for each block, or none.
  GivenBlocks(std::span<const at::Tensor> outputs, int per_layer, std::span<BlockNote> notes,
              std::vector<at::Tensor>& inputs)
      : Blocks(static_cast<int>(outputs.size()), per_layer),
        outputs_(outputs),
        notes_(notes),
        inputs_(inputs) {}

  StreamRows operator()(int k, const StreamRows& x) const override {
    inputs_.push_back(x.value);
    if (notes_.empty()) return {outputs_[k], outputs_[k]};
    notes_[k].seen = x.sum;
    return {outputs_[k], outputs_[k], &notes_[k]};
  }

 private:
  std::span<const at::Tensor> outputs_;
  std::span<BlockNote> notes_;
  std::vector<at::Tensor>& inputs_;
};

void add_notes(std::span<const BlockNote> notes, StreamRun& run) {
  for (const auto& note : notes) run.shares.push_back(note.shares);
  for (size_t k = 0; k + 1 < notes.size(); ++k) {
    const BlockNote& note = notes[k];
    run.passes_sum.push_back(!note.shares.empty() && note.joined.is_same(note.seen) &&
                             note.sum.is_same(notes[k + 1].seen));
  }
}

StreamSpec spec_of(const nn::Parameters& parameters, const StackTrace& trace,
                   const schemes::Choice& scheme) {
  return {.stack = model::stack(parameters.config(), trace.side),
          .scheme = scheme,
          .parameters = &parameters};
}

}  // namespace

StreamRun run_streams(const StreamSpec& spec, const Tensor& embedded,
                      std::span<const Tensor> outputs) {
  StreamRun run;
  std::vector<BlockNote> notes(spec.shares ? outputs.size() : 0);
  StreamArithmetic arithmetic(spec.parameters, spec.stack.side);
  const auto scheme = schemes::make(arithmetic, spec.stack, spec.scheme);
  const GivenBlocks blocks(outputs, spec.stack.blocks_per_layer, notes, run.inputs);
  run.y = scheme->forward({embedded, embedded}, blocks).value;
  add_notes(notes, run);
  return run;
}

Tensor replay(const nn::Parameters& parameters, const StackTrace& trace,
              const schemes::Choice& scheme, int layers) {
  const auto blocks = static_cast<size_t>(layers) * static_cast<size_t>(trace.per_layer);
  return run_streams(spec_of(parameters, trace, scheme), trace.embedded,
                     std::span(trace.outputs).first(blocks))
      .y;
}

StreamRun measure_streams(const nn::Parameters& parameters, const StackTrace& trace) {
  const at::NoGradGuard no_grad;
  StreamSpec spec = spec_of(parameters, trace, parameters.config().residual);
  spec.shares = true;
  return run_streams(spec, trace.embedded, trace.outputs);
}

}  // namespace residual::probe
