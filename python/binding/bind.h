#pragma once

#include <nanobind/nanobind.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/config_json.h"

// residual._residual: thin functions and classes over the libraries of src/. Python's part of the
// package gives them their public shape. Settings and options cross as JSON, read by the fields()
// beside their structs, so that names, ranges, meanings and errors have one home.
namespace residual::python {

namespace nb = nanobind;

void bind_metrics(nb::module_& module);
void bind_model(nb::module_& module);
void bind_schemes(nb::module_& module);
void bind_text(nb::module_& module);
void bind_translator(nb::module_& module);

// Fills a struct from the text of a JSON object.
template <class Struct>
void read_options(const std::string& json, Struct& out) {
  read_json(nlohmann::json::parse(json),
            ConfigFields([&](ConfigVisitor& visit) { fields(visit, out); }));
}

}  // namespace residual::python
