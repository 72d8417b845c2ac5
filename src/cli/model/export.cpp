// residual export: writes a model in another format.

#include "interop/export.h"
#include "interop/hugging_face.h"
#include "model/export.h"

#include <fmt/format.h>

#include <array>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/model/model_output.h"

namespace residual::cli {
namespace {

enum class Storage { as_stored, float16, int8, packed };
constexpr auto names(Storage) { return std::array{"as-stored", "fp16", "int8", "packed"}; }
enum class Format { model, bundle, fairseq, ctranslate2, hugging_face };
constexpr auto names(Format) {
  return std::array{"model", "bundle", "fairseq", "ctranslate2", "hugging-face"};
}

struct Options {
  fs::path model;
  ModelOutput output;
  Format format = Format::model;
  Storage storage = Storage::as_stored;
};
void fields(ConfigVisitor& visit, Options& o) {
  visit.choice("to", o.format,
               "a model directory, one file, or a directory for fairseq, CTranslate2 or Hugging "
               "Face's transformers");
  visit.choice(
      "precision", o.storage,
      "precision of the weight matrices: as-stored, fp16, int8, or packed (as stored, in a "
      "layout that is used in place when mapped)");
}

void write_own_form(const Options& o, const model::Directory& model) {
  const auto tensors_of = o.storage == Storage::float16  ? model::float16_tensors
                          : o.storage == Storage::int8   ? model::int8_tensors
                          : o.storage == Storage::packed ? model::packed_tensors
                                                         : model::stored_tensors;
  const model::ExportedTensors tensors = tensors_of(model);
  const model::Description& description = model.description();
  if (o.format == Format::bundle) {
    model::write_bundle(o.output.path, description, tensors.list, model);
    return;
  }
  model::write_directory(o.output.path, description, tensors.list, model);
}

uint64_t size_of(const fs::path& path) {
  if (fs::is_regular_file(path)) return fs::file_size(path);
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(path)) bytes += entry.file_size();
  return bytes;
}

// Other toolkits translate their input unchanged: they do not put tags before it.
void warn_of_tags(const model::Description& description) {
  std::vector<std::string> tags;
  for (const auto& d : description.directions) {
    if (d.source_tag.empty()) continue;
    tags.push_back(fmt::format("{} from {} to {}", d.source_tag, d.source, d.target));
  }
  if (tags.empty()) return;
  log::warn("sources must begin with a tag, which only ResiDual adds automatically: {}",
            fmt::join(tags, ", "));
}

void run(const Options& o) {
  const auto model = model::Directory::open(o.model);
  const bool own = o.format == Format::model || o.format == Format::bundle;
  require(own || o.storage == Storage::as_stored,
          "--precision fp16, int8 and packed are only for ResiDual's own formats; {}",
          o.format != Format::ctranslate2
              ? "other libraries get float32"
              : "CTranslate2 quantises when it loads (compute_type=\"int8\")");
  o.output.check();
  const fs::path& output = o.output.path;
  if (own) write_own_form(o, model);
  if (o.format == Format::fairseq) interop::export_fairseq(model, output);
  if (o.format == Format::ctranslate2) interop::export_ctranslate2(model, output);
  if (o.format == Format::hugging_face) interop::export_hugging_face(model, output);
  if (!own) warn_of_tags(model.description());
  fmt::print("{}: {} bytes\n", output.string(), format_count(size_of(output)));
}

}  // namespace

void add_export(CLI::App& root) {
  CLI::App* command = add_command(
      root, "export", "Write a model as float16, int8, one file, or for another library",
      {"# a quarter of the size, and faster to load",
       "residual export --model runs/iwslt14 --precision int8 -o models/de-en-int8",
       "# the original precision, mapped into memory instead of loaded",
       "residual export --model models/de-en --precision packed --to bundle -o de-en.safetensors",
       "residual export --model models/post-ln --to ctranslate2 -o ctranslate2/de-en"});
  auto options = std::make_shared<Options>();
  const std::string group = "Input and output";
  command->add_option("-m,--model", options->model, "model directory, run or bundle")
      ->required()
      ->type_name("PATH")
      ->group(group);
  options->output.add_to(*command, "PATH", group);
  add_flags(*command, [&](ConfigVisitor& visit) { fields(visit, *options); }, {.group = group},
            {group});
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
