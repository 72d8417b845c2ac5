#include "ops/activation.h"

#include "ops/parity.h"

namespace residual::ops {
namespace {

TEST(Activation, AgreesWithItsDefinition) {
  const Pair pairs[] = {
      {[](const Tensors& in) -> Tensors { return {swish(in[0])}; },
       [](const Tensors& in) -> Tensors { return {reference::swish(in[0])}; }},
      {[](const Tensors& in) -> Tensors { return {ops::gelu(in[0])}; },
       [](const Tensors& in) -> Tensors { return {reference::gelu(in[0])}; }},
      {[](const Tensors& in) -> Tensors { return {gelu_tanh(in[0])}; },
       [](const Tensors& in) -> Tensors { return {reference::gelu_tanh(in[0])}; }}};
  for (const Pair& pair : pairs) {
    for (const int64_t rows : {0, 1, 3}) {
      for (const int64_t width : kWidths) expect_parity(pair, {3 * normal({rows, width}, 1)});
    }
  }
}

}  // namespace
}  // namespace residual::ops
