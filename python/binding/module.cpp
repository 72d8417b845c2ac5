#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "base/error.h"
#include "base/log.h"
#include "base/version.h"
#include "binding/bind.h"

namespace residual::python {

NB_MODULE(_residual, m) {
  m.doc() = "The compiled part of residual; see the package's documentation.";
  nb::exception<Error>(m, "Error", PyExc_RuntimeError);
  m.def("version", &version);
  m.def("commit", &commit, "The commit of the source tree; \"-dirty\" with local changes.");
  bind_metrics(m);
  bind_model(m);
  bind_schemes(m);
  bind_text(m);
  bind_translator(m);
}

}  // namespace residual::python
