#include "model/directory.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "binding/bind.h"
#include "interop/marian.h"

namespace residual::python {
namespace {

struct Place {
  std::string dtype;
  std::vector<int64_t> shape;
  size_t begin;  // in the file
};

// The file that has the tensors, whose checksum has been compared, and where each lies in it.
struct BoundModel {
  explicit BoundModel(const std::string& path) : directory(model::Directory::open(path)) {}

  std::string weights_file() const { return directory.weights().name(); }
  std::map<std::string, Place> places() const {
    std::map<std::string, Place> all;
    const char* const start = directory.weights().bytes().data();
    for (const auto& [name, tensor] : directory.weights().tensors()) {
      if (name.starts_with(model::kBundledFile)) continue;
      all[name] = {model::name_of(tensor.dtype), tensor.shape,
                   static_cast<size_t>(tensor.bytes.data() - start)};
    }
    return all;
  }

  model::Directory directory;
};

void import_marian(const std::string& directory, const std::string& output) {
  interop::import_marian({.weights = directory}, output);
}

}  // namespace

void bind_model(nb::module_& m) {
  const nb::call_guard<nb::gil_scoped_release> without_gil;
  nb::class_<Place>(m, "Place")
      .def_ro("dtype", &Place::dtype)
      .def_ro("shape", &Place::shape)
      .def_ro("begin", &Place::begin);
  nb::class_<BoundModel>(m, "Model")
      .def(nb::init<const std::string&>(), nb::arg("path"), without_gil)
      .def_prop_ro("path", [](const BoundModel& self) { return self.directory.path().string(); })
      .def_prop_ro("weights_file", &BoundModel::weights_file)
      .def_prop_ro("places", &BoundModel::places)
      .def_prop_ro("description", [](const BoundModel& self) {
        return write_json(self.directory.description()).dump();
      });
  m.def("import_marian", &import_marian, nb::arg("directory"), nb::arg("output"), without_gil);
}

}  // namespace residual::python
