#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/safetensors.h"

// The names under which fairseq 0.12 and the authors' plug-in keep the same parameters.
namespace residual::interop {

// Rows [begin, begin + rows) of our parameter `name` are fairseq's `fairseq`. Of a vector, its
// elements.
struct FairseqPart {
  std::string name;
  std::string fairseq;
  int64_t begin, rows;
};

// For all parameters. Only post-ln, pre-ln and resi-dual exist there: an Error otherwise.
std::vector<FairseqPart> fairseq_parts(const model::Config& config);

// What the tensors do not say.
struct FairseqOptions {
  std::string prefix;  // before every name: "param."
  std::string scheme;  // "": post-ln if there is no final norm; otherwise it must be given
  double eta = 0;      // 0: what the file's metadata says, or 1
  int64_t heads = 0;   // 0: the file's metadata must say
  int64_t max_positions = 1024;
};

// What stands before the names of the file's model: nothing, "model.", "module." or "param.".
std::string fairseq_prefix(const model::SafeTensors& file);

// Whether that can be told: `residual export --to fairseq` writes such files.
bool has_fairseq_names(const model::SafeTensors& file);

// The architecture, read off the tensors' names and shapes.
model::Config fairseq_config(const model::SafeTensors& file, const FairseqOptions& options);

// Values of all parameters in the order of parameters(config). An Error lists all tensors that are
// missing, and all under the prefix that such a model has no use for: they would mean another
// architecture. Tensors that fairseq stores without ever using them are passed over.
std::vector<std::vector<float>> fairseq_values(const model::SafeTensors& file,
                                               const model::Config& config,
                                               const std::string& prefix);

}  // namespace residual::interop
