#pragma once

// How the weights of a model start. A scheme names a law for each role a matrix can have, because
// some schemes are mostly their initialisation and the others' authors differ in it.
namespace residual::schemes {

enum class Role { embedding, query, key, value, output, inner, outer };  // inner, outer: W1, W2

// For a matrix [out, in]:
//   normal_width    N(0, 1 / width): an embedding, scaled by sqrt(width) when looked up
//   xavier_uniform  U(-b, b), b = sqrt(6 / (in + out))
//   xavier_normal   N(0, 2 / (in + out))
//   fan_in_uniform  U(-b, b), b = 1 / sqrt(in): PyTorch's default for a linear layer
enum class Law { normal_width, xavier_uniform, xavier_normal, fan_in_uniform };

struct Init {
  Law law = Law::xavier_uniform;
  double gain = 1;       // factor on the drawn values
  double bias_gain = 0;  // biases are this times U(-1/sqrt(in), 1/sqrt(in)); 0: they start at zero
};

// fairseq 0.12.2: what the paper's own models start from. q, k, v as one Xavier matrix of three
// blocks (hence gain 1/sqrt(2)); feed-forward and q, k, v biases at PyTorch's default.
Init init_fairseq(Role role);
// fairseq up to 0.9, the base of DLCL's, T-Fixup's and Admin's code: Xavier and zero biases.
Init init_xavier(Role role);

// The roles whose size bounds how far a block moves its input.
bool is_on_the_value_path(Role role);

}  // namespace residual::schemes
