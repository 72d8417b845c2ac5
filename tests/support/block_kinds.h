#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "model/config.h"

// Models whose blocks differ from those of Vaswani et al. 2017 in one way, and in all of a
// well-known model.
namespace residual::test {

struct BlockKind {
  std::string name;
  void (*set)(model::Config& config);
};
inline void PrintTo(const BlockKind& kind, std::ostream* out) { *out << kind.name; }

// REQUIRES of the configuration: the number of heads is a multiple of their third or half, as in
// the tests' small ones; heads have an even width.
inline int64_t fewer_heads(int64_t heads) { return heads % 3 == 0 ? heads / 3 : heads / 2; }

inline std::vector<BlockKind> block_kinds() {
  using model::Activation, model::Norm, model::Positions, model::Config;
  return {
      {"rms_norm", [](Config& c) { c.norm = Norm::rms; }},
      {"epsilon", [](Config& c) { c.given_norm_epsilon = 0.3; }},
      {"learned", [](Config& c) { c.positions = Positions::learned; }},
      {"rotary", [](Config& c) { c.positions = Positions::rotary; }},
      {"rotary_base", [](Config& c) { c.positions = Positions::rotary, c.rotary_base = 3; }},
      {"grouped", [](Config& c) { c.key_value_heads = fewer_heads(c.heads); }},
      {"swish", [](Config& c) { c.activation = Activation::swish; }},
      {"gelu", [](Config& c) { c.activation = Activation::gelu; }},
      {"gelu_tanh", [](Config& c) { c.activation = Activation::gelu_tanh; }},
      {"gated_relu", [](Config& c) { c.gated = true; }},
      {"swiglu", [](Config& c) { c.gated = true, c.activation = Activation::swish; }},
      {"geglu", [](Config& c) { c.gated = true, c.activation = Activation::gelu; }},
      {"no_biases", [](Config& c) { c.biases = false; }},
      {"free_output", [](Config& c) { c.sharing = model::Sharing::none; }},
      {"llama",
       [](Config& c) {
         c.norm = Norm::rms;
         c.given_norm_epsilon = 1e-6;
         c.positions = Positions::rotary;
         c.key_value_heads = fewer_heads(c.heads);
         c.activation = Activation::swish;
         c.gated = true;
         c.biases = false;
         c.sharing = model::Sharing::none;
       }},
  };
}

// Those of Hugging Face's library besides, for language and masked models: GPT-2's or BERT's.
inline std::vector<BlockKind> single_stack_kinds() {
  auto kinds = block_kinds();
  kinds.push_back({"hugging_face", [](model::Config& c) {
                     c.form = model::Form::hugging_face;
                     c.positions = model::Positions::learned;
                     c.activation = model::Activation::gelu;
                   }});
  return kinds;
}

}  // namespace residual::test
