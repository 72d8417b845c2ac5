#pragma once

#include "model/directory.h"

// Export of a model to other toolkits' formats.
namespace residual::interop {

// Writes the segmentation settings and the sub-word models into a directory of another format.
void copy_subword_models(const model::Directory& model, const fs::path& to);

// Writes a directory with model.safetensors under fairseq 0.12's names (tied matrices under each of
// their names), dict.<language>.txt and the sub-word models. Only post-ln, pre-ln and resi-dual
// models have fairseq names.
void export_fairseq(const model::Directory& model, const fs::path& output);

// Writes a directory that CTranslate2 loads: model.bin, config.json and vocabularies, and the
// sub-word models for callers, which segment the text themselves. CTranslate2 runs only post-ln and
// pre-ln models.
void export_ctranslate2(const model::Directory& model, const fs::path& output);

}  // namespace residual::interop
