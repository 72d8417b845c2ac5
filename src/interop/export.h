#pragma once

#include "model/directory.h"

// A model in the files of other toolkits.
namespace residual::interop {

// Writes the segmentation settings and the sub-word models into a directory of another format.
void copy_subword_models(const model::Directory& model, const fs::path& to);

// A directory with model.safetensors under fairseq 0.12's names, tied matrices under all of them,
// dict.<language>.txt and the sub-word models. Only post-ln, pre-ln and resi-dual have such names.
void export_fairseq(const model::Directory& model, const fs::path& output);

// A directory that CTranslate2 loads: model.bin, config.json and vocabularies, and beside them the
// sub-word models, for callers that segment the text themselves. Only for post-ln and pre-ln.
void export_ctranslate2(const model::Directory& model, const fs::path& output);

}  // namespace residual::interop
