#include "decode/values.h"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <utility>
#include <vector>

#include "base/error.h"

namespace residual::decode {
namespace {

// Gives back the memory of mapped pages that lie wholly in `bytes`; they can be read again.
void drop_pages(std::span<const std::byte> bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t before = -reinterpret_cast<uintptr_t>(bytes.data()) % page;
  if (before >= bytes.size()) return;
  const auto whole = bytes.subspan(before, (bytes.size() - before) / page * page);
  madvise(const_cast<std::byte*>(whole.data()), whole.size(), MADV_DONTNEED);
}

// Tensors of a file as Values. Those that cannot be used where they are, are converted and kept.
class FileValues {
 public:
  explicit FileValues(std::shared_ptr<const model::Directory> directory)
      : directory_(std::move(directory)) {}

  Values find(const std::string& name) {
    const bool has_panels = directory_->weights().contains(name + model::kPanels);
    if (has_panels && !directory_->weights().contains(name)) {
      const auto& panels = directory_->weights().at(name + model::kPanels);
      return Packed{
          .panels = std::as_bytes(std::span(panels.bytes)),
          .precision = panels.dtype == model::Dtype::f16 ? Precision::float16 : Precision::float32};
    }
    const auto& tensor = directory_->weights().at(name);
    if (tensor.dtype == model::Dtype::i8) {
      const auto& scales = directory_->weights().at(name + model::kScale);
      require(scales.shape == std::vector<int64_t>{tensor.shape.at(0)},
              "{}: {} has shape [{}], expected one scale per row of {}",
              directory_->weights().name(), scales.name, fmt::join(scales.shape, ", "), name);
      return Int8{.numbers = tensor.values<int8_t>(),
                  .scales = scales.values<float>(),
                  .file = &directory_->weights()};
    }
    const bool is_aligned = reinterpret_cast<uintptr_t>(tensor.bytes.data()) % alignof(float) == 0;
    if (tensor.dtype == model::Dtype::f32 && is_aligned) {
      Float32 values = {.numbers = tensor.values<float>(), .file = &directory_->weights()};
      if (has_panels) {
        values.screen =
            std::as_bytes(std::span(directory_->weights().at(name + model::kPanels).bytes));
        values.scales = directory_->weights().at(name + model::kScale).values<float>();
      }
      return values;
    }
    const bool is_matrix = tensor.shape.size() == 2;
    if (tensor.dtype == model::Dtype::f16 && is_aligned && is_matrix) {
      const auto* const halves = reinterpret_cast<const uint16_t*>(tensor.bytes.data());
      return Float16{.numbers = {halves, static_cast<size_t>(tensor.size())},
                     .file = &directory_->weights()};
    }
    const auto [made, is_new] = converted_.try_emplace(name);
    if (is_new) made->second = tensor.to_float();
    return Float32{.numbers = made->second};
  }

 private:
  std::shared_ptr<const model::Directory> directory_;
  std::map<std::string, std::vector<float>> converted_;
};

}  // namespace

void drop(const model::SafeTensors* file, std::span<const std::byte> bytes) {
  if (file != nullptr) drop_pages(bytes);
}

// A touched page of a mapping counts as the process's memory from then on, with its neighbours, and
// with beam 5 a step asks for about 80 rows: soon all of a 65 MB table is resident. Reading 2 KB
// takes a microsecond, which a step of one sentence of base does not notice: base float32 takes
// 222 MB instead of 286 (c5ece9a). Small models took 16 to 82 % longer, so tables below 16 MB are
// always mapped.
bool is_read(const Float32& v) {
  constexpr size_t kLarge = 16 << 20;
  return v.file != nullptr && v.numbers.size_bytes() >= kLarge;
}

void read_row(const Float32& v, int64_t id, int64_t width, float* row) {
  const auto bytes = std::as_bytes(v.numbers.subspan(id * width, width));
  v.file->copy({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
               reinterpret_cast<char*>(row));
}

std::function<Values(const std::string& name)> file_values(
    std::shared_ptr<const model::Directory> directory) {
  const auto values = std::make_shared<FileValues>(std::move(directory));
  return [values](const std::string& name) { return values->find(name); };
}

}  // namespace residual::decode
