#include "model/replaceable.h"

#include <set>
#include <string>

#include "base/error.h"
#include "model/directory.h"
#include "model/safetensors.h"
#include "text/segmenter.h"

namespace residual::model {
namespace {

// What comes between the two in a name, or nothing.
std::string between(const std::string& name, std::string_view begin, std::string_view end) {
  const bool fits =
      name.starts_with(begin) && name.ends_with(end) && name.size() > begin.size() + end.size();
  return fits ? name.substr(begin.size(), name.size() - begin.size() - end.size()) : "";
}

// Weights under our own names, or under fairseq's as they are exported.
bool are_ours(const fs::path& weights) {
  try {
    const auto file = SafeTensors::open(weights);
    const auto format = file.metadata().find("format");
    return file.metadata().contains("scheme") ||
           (format != file.metadata().end() && format->second.starts_with("residual"));
  } catch (const Error&) {
    return false;
  }
}

// Names of the files that a model or an export of one has in this directory.
std::set<std::string> own_names(const fs::path& directory) {
  std::set<std::string> own = {"model.bin",
                               "config.json",
                               "shared_vocabulary.json",
                               "source_vocabulary.json",
                               "target_vocabulary.json",
                               kChecksumsFile};
  if (are_ours(directory / kWeightsFile)) {
    // The others are of an export to Hugging Face's library.
    own.insert({kWeightsFile, "vocab.json", "special_tokens_map.json", "tokenizer.model"});
  }
  if (fs::exists(directory / kConfigFile)) {
    const auto d = parse_description(read_file(directory / kConfigFile), kConfigFile);
    own.insert({kConfigFile, d.source_vocabulary, d.target_vocabulary});
  }
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (!between(name, "dict.", ".txt").empty()) own.insert(name);
    const std::string language = between(name, "segmentation.", ".toml");
    if (language.empty()) continue;
    own.insert({name, text::Segmenter::load(directory, language).options().model});
  }
  return own;
}

}  // namespace

void require_replaceable(const fs::path& path) {
  if (!fs::is_directory(path)) {
    require(are_ours(path), "{}: is not an earlier result and is not replaced; give another path",
            path.string());
    return;
  }
  std::set<std::string> own;
  try {
    own = own_names(path);
  } catch (const Error&) {  // files of these names, but not ours
  }
  for (const auto& entry : fs::directory_iterator(path)) {
    require(entry.is_regular_file() && own.contains(entry.path().filename()),
            "{}: {} in it is not an earlier result, so it is not replaced; give another path",
            path.string(), entry.path().filename().string());
  }
}

}  // namespace residual::model
