// ecosystem_logits MODEL NUMBER...: a line of logits for each of these symbols of an imported
// model. Symbols are given, and their logits printed, by the numbers of the library that it came
// from. A text begins with the model's first symbol.

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "decode/score.h"
#include "interop/hugging_face_names.h"

namespace residual {
namespace {

std::vector<float> logits_of(const fs::path& path, const std::vector<int64_t>& numbers) {
  const auto directory = std::make_shared<model::Directory>(model::Directory::open(path));
  const model::Config& c = directory->description().model;
  const auto& special = directory->description().model.special_numbers;
  int64_t count = c.output_vocabulary() - 4;
  for (size_t i = 0; i < special.size(); ++i) {
    const bool is_first = std::find(special.begin(), special.begin() + i, special[i]) ==
                          special.begin() + static_cast<int64_t>(i);
    count += static_cast<int64_t>(special[i] >= 0 && is_first);
  }
  const interop::Renumbering renumbering(special, count);
  std::vector<int32_t> ids;
  for (const int64_t number : numbers) {
    int32_t id = 0;
    while (renumbering.theirs(id) != number || renumbering.is_extra(id)) ++id;
    ids.push_back(id);
  }
  decode::Engine engine(decode::load_weights(directory, decode::Precision::float32, c.kind));
  std::vector<float> ours;
  if (c.kind == model::Kind::masked) {
    const std::span<const int32_t> source = ids;
    const auto rows = engine.predictors(engine.encode_rows({&source, 1}, nullptr), nullptr);
    ours.resize(ids.size() * c.output_vocabulary());
    engine.project(rows, 0, rows.rows(), ours.data(), nullptr);
  } else {
    std::vector<int32_t> target(ids.begin() + 1, ids.end());
    target.push_back(2);
    ours = decode::forced_logits(engine, {{}, target});
  }
  std::vector<float> theirs;
  for (size_t row = 0; row < ids.size(); ++row) {
    const auto some = renumbering.to_theirs(
        std::span(ours).subspan(row * c.output_vocabulary(), c.output_vocabulary()), 1);
    theirs.insert(theirs.end(), some.begin(), some.end());
  }
  return theirs;
}

}  // namespace
}  // namespace residual

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::vector<int64_t> numbers;
  for (int i = 2; i < argc; ++i) numbers.push_back(std::stoll(argv[i]));
  try {
    const auto logits = residual::logits_of(argv[1], numbers);
    const size_t columns = logits.size() / numbers.size();
    for (size_t i = 0; i < logits.size(); ++i)
      fmt::print("{:.9g}{}", logits[i], (i + 1) % columns == 0 ? "\n" : " ");
  } catch (const residual::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
