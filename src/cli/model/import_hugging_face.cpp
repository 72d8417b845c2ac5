// residual import-hugging-face: converts a GPT-2, Llama or BERT model to a model directory.

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/model/model_output.h"
#include "interop/hugging_face.h"

namespace residual::cli {
namespace {

struct Options {
  interop::HuggingFaceImport import;
  ModelOutput output;
};

void run(const Options& o) {
  require(fs::is_directory(o.import.directory),
          "{}: is not a directory; expected config.json and {}", o.import.directory.string(),
          model::kWeightsFile);
  o.output.check();
  const model::Config c = interop::import_hugging_face(o.import, o.output.path).model;
  fmt::print("{}: {} {} model, {} layers of width {}, {} symbols, {} parameters\n",
             o.output.path.string(), c.residual.name, name_of(c.kind),
             c.has_decoder() ? c.decoder_layers : c.encoder_layers, c.width,
             format_count(static_cast<uint64_t>(c.output_vocabulary())),
             format_count(static_cast<uint64_t>(model::parameter_count(c))));
}

}  // namespace

void add_import_hugging_face(CLI::App& root) {
  CLI::App* command = add_command(
      root, "import-hugging-face", "Convert a GPT-2, Llama or BERT model to a model directory",
      {"# a Llama model with its SentencePiece tokenizer",
       "residual import-hugging-face TinyLlama-1.1B --output models/tiny-llama",
       "residual generate --model models/tiny-llama --prompt 'Once upon a time'", "# and back",
       "residual export --model models/tiny-llama --to hugging-face -o llama"});
  auto options = std::make_shared<Options>();
  auto& import = options->import;
  const std::string files = "Input and output", text = "Text";
  command
      ->add_option("directory", import.directory,
                   "the model: config.json, model.safetensors and the tokenizer's files")
      ->required()
      ->type_name("DIRECTORY")
      ->group(files);
  options->output.add_to(*command, "DIR", files);
  command
      ->add_option("--language", import.language,
                   "language of the text, which names the files of its segmentation")
      ->capture_default_str()
      ->type_name("LANG")
      ->group(text);
  command
      ->add_option("--max-positions", import.max_positions,
                   "longest text in tokens (default: the model's)")
      ->check(positive())
      ->type_name("N")
      ->group(text);
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
