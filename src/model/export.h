#pragma once

#include <deque>
#include <string>
#include <vector>

#include "model/directory.h"

// A model in other forms: float16, int8, fairseq's names, CTranslate2's files.
namespace residual::model {

// Tensors to be written, and the memory of those that are not in the model's own file.
struct ExportedTensors {
  std::vector<TensorBytes> list;
  std::deque<std::string> made;

  void add(const std::string& name, Dtype dtype, const std::vector<int64_t>& shape,
           std::string bytes);
};

// The parameters as they are stored. They last as long as `model`.
ExportedTensors stored_tensors(const Directory& model);
// Matrices as float16, the rest as it is. Running them gives what loading the model with float16
// precision gives, bit for bit.
ExportedTensors float16_tensors(const Directory& model);
// Matrices as int8 with a scale per row, the rest as it is. Running them gives what loading the
// model with int8 precision gives, bit for bit.
ExportedTensors int8_tensors(const Directory& model);

// Matrices as products read them, so that translating needs no copy of the file; only translating
// takes such a model.
ExportedTensors packed_tensors(const Directory& model);

// Writes how text is segmented, and the sub-word models, into a directory of another format.
void copy_subword_models(const Directory& model, const fs::path& to);

// A directory with model.safetensors under fairseq 0.12's names, tied matrices under all of them,
// dict.<language>.txt and the sub-word models. Only post-ln, pre-ln and resi-dual have such names.
void export_fairseq(const Directory& model, const fs::path& output);

// A directory that CTranslate2 loads: model.bin, config.json and vocabularies, and beside them the
// sub-word models, for those who segment the text. Only for post-ln and pre-ln.
void export_ctranslate2(const Directory& model, const fs::path& output);

}  // namespace residual::model
