#include "model/parameters.h"

#include <cmath>

#include "base/checksum.h"
#include "base/error.h"
#include "base/random.h"
#include "schemes/listing.h"
#include "schemes/make.h"
#include "text/vocabulary.h"

namespace residual::model {
namespace {

using schemes::Role;
using schemes::Side;

class List {
 public:
  explicit List(const Config& config) : c_(config) {}

  void embedding(const std::string& name, Side side, int64_t symbols) {
    list_.push_back({.name = name,
                     .shape = {symbols, c_.width},
                     .side = side,
                     .parts = {{Role::embedding, symbols}},
                     .inputs = c_.width});
  }

  void add_stack(Side side) {
    const schemes::Stack s = stack(c_, side);
    if (c_.positions == Positions::learned)
      embedding(position_embedding(side), side, c_.max_positions);
    for (int k = 0; k < s.blocks(); ++k) {
      const int place = k % s.blocks_per_layer;
      if (place == 0) {
        self_attention(side, k);
      } else if (place == s.blocks_per_layer - 1) {
        feed_forward(side, k);
      } else {
        cross_attention(side, k);
      }
    }
    schemes::Listing declared(c_.width, /*norms_have_bias=*/c_.norm == Norm::layer);
    schemes::make(declared, s, c_.residual);
    const std::string prefix = side == Side::encoder ? "encoder.residual." : "decoder.residual.";
    for (const auto& p : declared.parameters()) {
      list_.push_back({.name = prefix + p.name, .shape = {p.size}, .side = side, .value = p.value});
    }
  }

  void bert_ends() {
    norm(kEmbeddingNorm);
    matrix(Side::encoder, -1, kHead, {{Role::output, c_.width}}, c_.width);
    norm(kHeadNorm);
  }
  void output_bias(Side side, int64_t symbols) {
    list_.push_back({.name = kOutputBias, .shape = {symbols}, .side = side});
  }

  std::vector<Parameter> take() { return std::move(list_); }

 private:
  // A matrix [sum of rows, inputs] and its bias.
  void matrix(Side side, int k, const std::string& name, const std::vector<MatrixPart>& parts,
              int64_t inputs) {
    int64_t rows = 0;
    for (const auto& part : parts) rows += part.rows;
    list_.push_back({name + ".weight", {rows, inputs}, side, k, parts, inputs});
    if (c_.biases) list_.push_back({name + ".bias", {rows}, side, k, parts, inputs});
  }
  void linear(Side side, int k, const char* name, const std::vector<MatrixPart>& parts,
              int64_t inputs) {
    matrix(side, k, block_name(c_, side, k) + "." + name, parts, inputs);
  }
  void norm(const std::string& name) {
    list_.push_back({.name = name + ".weight", .shape = {c_.width}, .value = 1});
    if (c_.norm == Norm::layer) list_.push_back({.name = name + ".bias", .shape = {c_.width}});
  }
  void self_attention(Side side, int k) {
    const int64_t d = c_.width, kv = c_.kv_width();
    linear(side, k, "qkv", {{Role::query, d}, {Role::key, kv}, {Role::value, kv}}, d);
    linear(side, k, "output", {{Role::output, d}}, d);
  }
  void cross_attention(Side side, int k) {
    const int64_t d = c_.width, kv = c_.kv_width();
    linear(side, k, "query", {{Role::query, d}}, d);
    linear(side, k, "key_value", {{Role::key, kv}, {Role::value, kv}}, d);
    linear(side, k, "output", {{Role::output, d}}, d);
  }
  void feed_forward(Side side, int k) {
    std::vector<MatrixPart> inner(c_.gated ? 2 : 1, {Role::inner, c_.inner});
    linear(side, k, "inner", inner, c_.width);
    linear(side, k, "outer", {{Role::outer, c_.width}}, c_.inner);
  }

  const Config& c_;
  std::vector<Parameter> list_;
};

double draw(schemes::Law law, const Random& random, uint64_t position, double rows, double inputs) {
  const double uniform = 2 * random.uniform(position) - 1;
  switch (law) {
    case schemes::Law::normal_width:
      return random.normal(position) / std::sqrt(inputs);
    case schemes::Law::xavier_uniform:
      return uniform * std::sqrt(6 / (inputs + rows));
    case schemes::Law::xavier_normal:
      return random.normal(position) * std::sqrt(2 / (inputs + rows));
    case schemes::Law::fan_in_uniform:
      return uniform / std::sqrt(inputs);
  }
  fail("unknown law {}", static_cast<int>(law));
}

}  // namespace

int64_t Parameter::size() const {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

std::string block_name(const Config& config, Side side, int block) {
  const schemes::Stack s = stack(config, side);
  const int place = block % s.blocks_per_layer;
  const char* kind = "cross_attention";
  if (place == 0) kind = "self_attention";
  if (place == s.blocks_per_layer - 1) kind = "feed_forward";
  return fmt::format("{}.layers.{}.{}", side == Side::encoder ? "encoder" : "decoder",
                     block / s.blocks_per_layer, kind);
}

std::string source_embedding(const Config& c) {
  return c.sharing == Sharing::all ? "embedding.weight" : kSourceEmbedding;
}

std::string target_embedding(const Config& c) {
  return c.sharing == Sharing::all ? "embedding.weight" : kTargetEmbedding;
}

std::string output_embedding(const Config& c) {
  if (c.sharing == Sharing::none) return kOutputEmbedding;
  return c.has_decoder() ? target_embedding(c) : source_embedding(c);
}

std::string position_embedding(Side side) {
  return side == Side::encoder ? "encoder.positions.weight" : "decoder.positions.weight";
}

std::vector<Parameter> parameters(const Config& c) {
  List list(c);
  const bool shared = c.sharing == Sharing::all;
  if (c.has_encoder()) list.embedding(source_embedding(c), Side::encoder, c.source_vocabulary);
  if (c.has_decoder() && !(shared && c.has_encoder())) {
    list.embedding(target_embedding(c), Side::decoder, c.target_vocabulary);
  }
  if (c.sharing == Sharing::none) {
    const Side side = c.has_decoder() ? Side::decoder : Side::encoder;
    list.embedding(kOutputEmbedding, side,
                   c.has_decoder() ? c.target_vocabulary : c.source_vocabulary);
  }
  if (c.has_encoder()) list.add_stack(Side::encoder);
  if (c.has_decoder()) list.add_stack(Side::decoder);
  if (c.has_bert_ends()) list.bert_ends();
  if (c.has_output_bias())
    list.output_bias(c.has_decoder() ? Side::decoder : Side::encoder, c.output_vocabulary());
  return list.take();
}

bool is_multiplied(const Parameter& p, const Config& c) {
  const bool is_looked_up = p.name == source_embedding(c) || p.name == target_embedding(c) ||
                            p.name == position_embedding(p.side);
  return p.shape.size() == 2 && (!is_looked_up || p.name == output_embedding(c));
}

int64_t parameter_count(const Config& config) {
  int64_t count = 0;
  for (const auto& parameter : parameters(config)) count += parameter.size();
  return count;
}

void initialise(const Parameter& p, const Config& config, uint64_t seed, std::span<float> values) {
  if (p.parts.empty()) {
    std::ranges::fill(values, static_cast<float>(p.value));
    return;
  }
  const schemes::Choice choice = schemes::resolve(config.residual);
  const auto& scheme = schemes::find(choice.name);
  const Random random(seed, checksum(p.name));
  const bool is_bias = p.shape.size() == 1;
  const int64_t columns = is_bias ? 1 : p.inputs;
  int64_t at = 0;
  for (const auto& part : p.parts) {
    const schemes::Init init = scheme.init(part.role, stack(config, p.side), choice);
    const schemes::Law law = is_bias ? schemes::Law::fan_in_uniform : init.law;
    const double gain = is_bias ? init.bias_gain : init.gain;
    for (const int64_t end = at + part.rows * columns; at < end; ++at) {
      values[at] = static_cast<float>(gain * draw(law, random, static_cast<uint64_t>(at),
                                                  static_cast<double>(part.rows),
                                                  static_cast<double>(p.inputs)));
    }
    if (part.role == Role::embedding && p.name != position_embedding(p.side)) {
      std::ranges::fill(values.subspan(text::Vocabulary::kPad * p.inputs, p.inputs), 0.0F);
    }
  }
}

}  // namespace residual::model
