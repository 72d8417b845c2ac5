#include "probe/figures.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <numeric>
#include <utility>

namespace residual::probe {
namespace {

constexpr const char* kBlock = "block k";
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

report::Series predicted(report::Series series, size_t colour) {
  series.dashed = true;
  series.colour = static_cast<int>(colour);
  return series;
}

std::string file_name(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  }
  return text;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

const char* name_of(Side side) { return side == Side::encoder ? "encoder" : "decoder"; }
const char* title_of(Side side) { return side == Side::encoder ? "Encoder" : "Decoder"; }

// The stacks of one side, with the names of their models.
struct SideStacks {
  Side side;
  std::vector<std::pair<std::string, const StackMeasurement*>> stacks;

  report::Figure figure(const std::string& id) const {
    return {
        .id = std::string(name_of(side)) + "-" + id, .section = title_of(side), .x_label = kBlock};
  }
};

report::Figure gradient_figure(const SideStacks& side) {
  report::Figure f = side.figure("gradients");
  f.title = "Gradient of each block's parameters";
  f.y_label = "Frobenius norm";
  f.log_y = true;
  f.note =
      "Gradient of the mean loss per token (figure 2a). A line that falls towards block 1 is a "
      "gradient "
      "that "
      "vanishes on its way down.";
  for (const auto& [label, stack] : side.stacks) {
    f.series.push_back(report::counted(label, stack->gradients.total.parameters));
  }
  return f;
}

report::Figure reaching_figure(const SideStacks& side) {
  report::Figure f = side.figure("reaching");
  f.title = "Gradient that reaches each block's output";
  f.y_label = "Frobenius norm";
  f.log_y = true;
  f.note = "|dL/df|: before it becomes the gradient of parameters.";
  for (const auto& [label, stack] : side.stacks) {
    f.series.push_back(report::counted(label, stack->gradients.total.outputs));
  }
  return f;
}

void add_split_figures(const SideStacks& side, std::vector<report::Figure>& figures) {
  for (const auto& [label, stack] : side.stacks) {
    const auto& gradients = stack->gradients;
    if (!gradients.split) continue;
    const auto& [streams, direct] = *gradients.split;
    report::Figure f = side.figure("split-" + file_name(label));
    f.title = label + ": the parts of a block's gradient, by stream";
    f.y_label = "Frobenius norm, parameters";
    f.log_y = true;
    f.note =
        "Equation 4, each part by differentiating with the others cut at the stack's output. They "
        "add up as vectors, not as norms.";
    f.series = {report::counted("whole", gradients.total.parameters)};
    for (const auto& part : streams) {
      f.series.push_back(
          report::counted(fmt::format("through the {} stream", part.stream), part.parameters));
    }
    figures.push_back(f);

    f.id = side.figure("split-reaching-" + file_name(label)).id;
    f.title = label + ": the parts of what reaches a block, by stream";
    f.y_label = "Frobenius norm, block's output";
    const std::string& last = streams.back().stream;
    f.note = fmt::format(
        "The {} stream is a sum: the gradient it hands on directly is the same for every block, "
        "and a floor unless what comes through the blocks above points the other way.",
        last);
    const size_t blocks = gradients.total.outputs.size();
    f.series = {report::counted("whole", gradients.total.outputs)};
    for (const auto& part : streams) {
      f.series.push_back(
          report::counted(fmt::format("through the {} stream", part.stream), part.outputs));
    }
    f.series.push_back(predicted(report::counted(fmt::format("of the {}, directly", last),
                                                 std::vector<double>(blocks, direct)),
                                 streams.size()));
    figures.push_back(std::move(f));
  }
}

// The theorems predict nothing where the next input is not the normalised sum.
std::vector<double> expected_changes(const StackMeasurement& stack) {
  std::vector<double> expected;
  for (size_t k = 0; k < stack.passes_sum.size(); ++k) {
    expected.push_back(stack.passes_sum[k] ? expected_change(stack.shares[k][0]) : kNone);
  }
  return expected;
}

report::Figure change_figure(const SideStacks& side) {
  report::Figure f = side.figure("change");
  f.title = "Change between neighbouring inputs, normalised";
  f.y_label = "mean |x(k+1) - x(k)|";
  f.note =
      "Figure 2b: a line that sinks towards the top is a representation that collapses. Dashed: "
      "the prediction of theorems 3.3 and 3.6 for Gaussian, independent branches with the measured "
      "share of the sum's variance; it has no value where that share is above 1, or where the next "
      "block sees more than that sum.";
  for (size_t i = 0; i < side.stacks.size(); ++i) {
    const auto& [label, stack] = side.stacks[i];
    report::Series measured = report::counted(label, stack->representation.normalised_change);
    measured.colour = static_cast<int>(i);
    f.series.push_back(std::move(measured));
    f.series.push_back(
        predicted(report::counted(label + ", expected", expected_changes(*stack)), i));
  }
  return f;
}

report::Figure seen_change_figure(const SideStacks& side) {
  report::Figure f = side.figure("change-as-seen");
  f.title = "Change between neighbouring inputs, as seen";
  f.y_label = "mean |x(k+1) - x(k)|";
  f.note = "As the blocks see their inputs: with the gains of norms, or without any norm.";
  for (const auto& [label, stack] : side.stacks) {
    f.series.push_back(report::counted(label, stack->representation.change));
  }
  return f;
}

report::Figure dropped_figure(const SideStacks& side) {
  report::Figure f = side.figure("dropped");
  f.title = "Change of the output without the last layers";
  f.x_label = "layers dropped";
  f.y_label = "mean |y - y'|";
  f.note = "Corollaries 3.5 and 3.7. The last point is the bare embedding.";
  for (const auto& [label, stack] : side.stacks) {
    f.series.push_back(report::counted(label, stack->output_changes));
  }
  return f;
}

// The share in the block's n-th sum, where it has one.
std::vector<double> shares_in(const Shares& all, size_t sum) {
  std::vector<double> shares;
  for (const auto& block : all) shares.push_back(sum < block.size() ? block[sum] : kNone);
  return shares;
}

report::Figure share_figure(const SideStacks& side) {
  report::Figure f = side.figure("shares");
  f.title = "Share of a block in its residual sum";
  f.y_label = "Var[f] / Var[x + f]";
  f.note =
      "The ratio of Liu et al. (2020): near 0 the block hardly changes the next block's input. "
      "Above 1, block and stream point against each other.";
  for (size_t i = 0; i < side.stacks.size(); ++i) {
    const auto& [label, stack] = side.stacks[i];
    size_t sums = 0;
    for (const auto& block : stack->shares) sums = std::max(sums, block.size());
    for (size_t sum = 0; sum < sums; ++sum) {
      report::Series series = report::counted(sum == 0 ? label : label + ", dual stream",
                                              shares_in(stack->shares, sum));
      series.colour = static_cast<int>(sum == 0 ? i : side.stacks.size());
      f.series.push_back(std::move(series));
    }
  }
  return f;
}

report::Figure cosine_figure(const SideStacks& side) {
  report::Figure f = side.figure("cosine");
  f.title = "Similarity of neighbouring inputs";
  f.y_label = "cosine of x(k) and x(k+1)";
  for (const auto& [label, stack] : side.stacks) {
    f.series.push_back(report::counted(label, stack->representation.cosine));
  }
  return f;
}

void add_similarity_figures(const SideStacks& side, std::vector<report::Figure>& figures) {
  for (const auto& [label, stack] : side.stacks) {
    report::Figure f = side.figure("similarity-" + file_name(label));
    f.title = label + ": similarity of all blocks' inputs";
    f.y_label = "cosine of the inputs of two blocks, from 0 (clear) to 1 (full colour)";
    f.matrix = stack->representation.similarity;
    figures.push_back(std::move(f));
  }
}

SideStacks stacks_of(const std::vector<MeasuredModel>& models, Side side) {
  SideStacks found{.side = side, .stacks = {}};
  for (const auto& model : models) {
    for (const auto& stack : model.measurement.stacks) {
      if (stack.side == side) found.stacks.emplace_back(model.label, &stack);
    }
  }
  return found;
}

// ---- attention

struct AttentionKind {
  Side side;
  bool cross;
  const char* id;
  const char* title;
};

constexpr AttentionKind kKinds[] = {
    {Side::encoder, false, "encoder-self", "encoder self-attention"},
    {Side::decoder, false, "decoder-self", "decoder self-attention"},
    {Side::decoder, true, "cross", "cross-attention"},
};

std::vector<const AttentionEntropy*> blocks_of(const MeasuredModel& model,
                                               const AttentionKind& kind) {
  std::vector<const AttentionEntropy*> found;
  for (const auto& block : model.measurement.entropy) {
    if (block.side == kind.side && block.cross == kind.cross) found.push_back(&block);
  }
  return found;
}

report::Figure entropy_figure(const std::string& id, const std::string& title) {
  return {.id = id,
          .section = "Attention",
          .title = title,
          .x_label = "layer",
          .y_label = "entropy, 1 = uniform"};
}

void add_entropy_figures(const std::vector<MeasuredModel>& models, const AttentionKind& kind,
                         std::vector<report::Figure>& figures) {
  report::Figure all =
      entropy_figure(std::string("entropy-") + kind.id, std::string("Entropy of ") + kind.title);
  all.note = "Mean over heads and queries, as a share of the entropy of uniform attention.";
  std::vector<report::Figure> by_head;
  for (const auto& model : models) {
    const auto blocks = blocks_of(model, kind);
    if (blocks.empty()) continue;
    std::vector<double> means;
    for (const auto* block : blocks) means.push_back(mean(block->relative));
    all.series.push_back(report::counted(model.label, std::move(means)));
    report::Figure heads = entropy_figure(all.id + "-" + file_name(model.label),
                                          model.label + ": " + kind.title + " by head");
    heads.section = "Attention by head";
    for (size_t h = 0; h < blocks[0]->relative.size(); ++h) {
      std::vector<double> values;
      for (const auto* block : blocks) values.push_back(block->relative[h]);
      heads.series.push_back(report::counted("head " + std::to_string(h + 1), std::move(values)));
    }
    by_head.push_back(std::move(heads));
  }
  if (all.series.empty()) return;
  figures.push_back(std::move(all));
  std::ranges::move(by_head, std::back_inserter(figures));
}

}  // namespace

std::vector<report::Figure> model_figures(const std::vector<MeasuredModel>& models) {
  std::vector<report::Figure> figures;
  for (const Side which : {Side::encoder, Side::decoder}) {
    const SideStacks side = stacks_of(models, which);
    if (side.stacks.empty()) continue;
    figures.push_back(gradient_figure(side));
    figures.push_back(change_figure(side));
    figures.push_back(reaching_figure(side));
    add_split_figures(side, figures);
    figures.push_back(dropped_figure(side));
    figures.push_back(share_figure(side));
    figures.push_back(seen_change_figure(side));
    figures.push_back(cosine_figure(side));
    add_similarity_figures(side, figures);
  }
  std::vector<report::Figure> attention;
  for (const auto& kind : kKinds) add_entropy_figures(models, kind, attention);
  std::ranges::stable_partition(attention,
                                [](const report::Figure& f) { return f.section == "Attention"; });
  std::ranges::move(attention, std::back_inserter(figures));
  return figures;
}

}  // namespace residual::probe
