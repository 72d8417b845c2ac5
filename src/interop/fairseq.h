#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/safetensors.h"

// The parameter names of fairseq 0.12 and the authors' plug-in.
namespace residual::interop {

// Rows [begin, begin + rows) of our parameter `name`, or these elements of a vector, are fairseq's
// parameter `fairseq`.
struct FairseqPart {
  std::string name;
  std::string fairseq;
  int64_t begin, rows;
};

// Returns the parts of all parameters. Throws an Error for schemes other than post-ln, pre-ln and
// resi-dual, which fairseq does not have.
std::vector<FairseqPart> fairseq_parts(const model::Config& config);

// Settings that the tensors do not reveal.
struct FairseqOptions {
  std::string prefix;  // prefix of every name: "param."
  std::string scheme;  // "": post-ln if there is no final norm; otherwise required
  double eta = 0;      // 0: from the file's metadata, or 1
  int64_t heads = 0;   // 0: from the file's metadata, which must have it
  int64_t max_positions = 1024;
};

// Returns the prefix of the file's parameter names: nothing, "model.", "module." or "param.".
std::string fairseq_prefix(const model::SafeTensors& file);

// Returns whether the file has a known prefix, as files of `residual export --to fairseq` do.
bool has_fairseq_names(const model::SafeTensors& file);

// Returns the architecture that the tensors' names and shapes imply.
model::Config fairseq_config(const model::SafeTensors& file, const FairseqOptions& options);

// Returns the values of all parameters in the order of parameters(config). An Error lists all
// missing tensors, and all tensors under the prefix that such a model does not use, since they
// would imply another architecture. Tensors that fairseq stores but never uses are ignored.
std::vector<std::vector<float>> fairseq_values(const model::SafeTensors& file,
                                               const model::Config& config,
                                               const std::string& prefix);

}  // namespace residual::interop
