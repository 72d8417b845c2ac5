// residual import-marian: converts a Marian model to a model directory.

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "cli/command.h"
#include "cli/model/model_output.h"
#include "interop/marian.h"

namespace residual::cli {
namespace {

struct Options {
  interop::MarianImport import;
  ModelOutput output;
  std::vector<fs::path> vocabularies, pieces;  // one for both sides, or one each
};

// A Hugging Face directory contains the settings that an .npz of Marian needs as options.
void check_usage(const Options& o) {
  require(fs::exists(o.import.weights), "{}: does not exist", o.import.weights.string());
  const bool has_many = interop::has_many_targets(o.import);
  if (has_many && !o.import.target_language.empty()) {
    throw CLI::ValidationError(
        "--target-language: a model with several target languages takes them from its tags");
  }
  if (fs::is_directory(o.import.weights)) {
    const bool has_pieces = !o.pieces.empty();
    if (!o.vocabularies.empty() || has_pieces) {
      throw CLI::ValidationError(
          fmt::format("{}: not needed, because the directory {} contains its own",
                      has_pieces ? "--sentencepiece" : "--vocabulary", o.import.weights.string()));
    }
    return;
  }
  if (o.vocabularies.empty()) throw CLI::RequiredError("--vocabulary");
  if (o.import.source_language.empty()) throw CLI::RequiredError("--source-language");
  if (!has_many && o.import.target_language.empty()) {
    throw CLI::RequiredError("--target-language");
  }
}

void run(Options o) {
  check_usage(o);
  o.output.check();
  auto& import = o.import;
  if (!o.vocabularies.empty()) {
    import.source_vocabulary = o.vocabularies.front();
    import.target_vocabulary = o.vocabularies.back();
  }
  if (!o.pieces.empty()) {
    import.source_pieces = o.pieces.front();
    import.target_pieces = o.pieces.back();
  }
  const auto made = interop::import_marian(import, o.output.path);
  print_import(o.output.path, made);
}

}  // namespace

void add_import_marian(CLI::App& root) {
  CLI::App* command = add_command(
      root, "import-marian", "Convert a Marian model to a model directory",
      {"# an OPUS-MT model from Hugging Face",
       "residual import-marian opus-mt-en-de --output models/opus-en-de",
       "# the same model from the OPUS-MT archive",
       "residual import-marian opus.spm32k-spm32k.transformer-align.model1.npz \\",
       "  --vocabulary opus.spm32k-spm32k.vocab.yml --sentencepiece source.spm target.spm \\",
       "  --source-language en --target-language de --output models/opus-en-de",
       "echo 'Good morning.' | residual translate --model models/opus-en-de"});
  auto options = std::make_shared<Options>();
  auto& import = options->import;
  const std::string files = "Input and output", text = "Text";
  command
      ->add_option("weights", import.weights,
                   "the model: an .npz file, or a Hugging Face directory (config.json, "
                   "model.safetensors, vocab.json, source.spm, target.spm)")
      ->required()
      ->type_name("MODEL")
      ->group(files);
  options->output.add_to(*command, "DIR", files);
  command
      ->add_option("--vocabulary", options->vocabularies,
                   "vocabulary of an .npz file (.yml, .json, .vocab or .spm): one for both sides, "
                   "or source and target")
      ->expected(1, 2)
      ->type_name("FILE")
      ->group(text);
  command
      ->add_option("--sentencepiece", options->pieces,
                   "SentencePiece models, if the vocabularies are not SentencePiece models: one "
                   "for both sides, or source and target")
      ->expected(1, 2)
      ->type_name("FILE")
      ->group(text);
  command
      ->add_option("--source-language", import.source_language,
                   "source language such as en (default: from the directory)")
      ->type_name("LANG")
      ->group(text);
  command
      ->add_option("--target-language", import.target_language,
                   "target language such as de (default: from the directory)")
      ->type_name("LANG")
      ->group(text);
  command
      ->add_option("--tag", import.source_tags,
                   "tag to put before every source, such as >>deu<<, for multilingual models; each "
                   "of several tags, or of all, becomes a direction")
      ->type_name("SYMBOL")
      ->group(text);
  command
      ->add_flag("--normalize", import.normalize_punctuation,
                 "normalise punctuation before segmentation")
      ->group(text);
  command
      ->add_option(
          "--max-positions", import.max_positions,
          "longest sentence in tokens, including </s> (default: from the directory, or 1024)")
      ->check(positive())
      ->type_name("N")
      ->group(text);
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
