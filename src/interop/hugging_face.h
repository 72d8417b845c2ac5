#pragma once

#include <optional>
#include <string>

#include "model/directory.h"

// Language and masked models of Hugging Face's library: directories with config.json and
// model.safetensors.
namespace residual::interop {

struct HuggingFaceImport {
  fs::path directory;
  std::string language = "en";           // names the text of a model with a tokenizer.model
  std::optional<int64_t> max_positions;  // fewer than the model's
};

// Writes the model directory `output` from a GPT-2, Llama or BERT model, whose logits it has. Of
// tokenizers, SentencePiece models (tokenizer.model) are imported; other models take pieces between
// spaces, which are the symbols of vocab.json, vocab.txt or tokenizer.json, or without these the
// symbols' numbers.
model::Description import_hugging_face(const HuggingFaceImport& options, const fs::path& output);

// Writes a directory that transformers loads as LlamaForCausalLM, GPT2LMHeadModel or
// BertForMaskedLM, with the model's logits. An imported model's symbols get their numbers back.
// Throws an Error that names what the library has no place for.
void export_hugging_face(const model::Directory& model, const fs::path& output);

}  // namespace residual::interop
