#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "base/error.h"
#include "binding/bind.h"
#include "binding/python_arithmetic.h"
#include "schemes/make.h"

namespace residual::python {
namespace {

using schemes::Choice;
using schemes::Role;
using schemes::Side;
using schemes::Stack;

constexpr auto names(Side /*side*/) { return std::array{"encoder", "decoder"}; }
constexpr auto names(Role /*role*/) {
  return std::array{"embedding", "query", "key", "value", "output", "inner", "outer"};
}
constexpr std::array kLaws = {"normal_width", "xavier_uniform", "xavier_normal", "fan_in_uniform"};

Choice choice_of(const std::string& options) {
  Choice choice;
  read_options(options, choice);
  return schemes::resolve(choice);
}

template <class Enumeration>
Enumeration value_of(const char* what, const std::string& name) {
  const auto all = names(Enumeration{});
  const std::vector<std::string> known(all.begin(), all.end());
  return static_cast<Enumeration>(index_of_name(what, name, known));
}

Stack stack_of(const std::string& side, int layers, int other_layers, int blocks_per_layer) {
  require(layers >= 1 && other_layers >= 0 && blocks_per_layer >= 1,
          "a stack needs at least one layer of at least one block");
  return {value_of<Side>("side", side), layers, other_layers, blocks_per_layer};
}

class PythonBlocks final : public schemes::Blocks<PythonArithmetic> {
 public:
  PythonBlocks(const Stack& stack, nb::object operations, nb::callable block)
      : Blocks(stack.blocks(), stack.blocks_per_layer),
        operations_(std::move(operations)),
        block_(std::move(block)) {}
  Tensor operator()(int k, const Tensor& x) const override {
    return {{operations_, block_(k, x.value)}};
  }

 private:
  nb::object operations_;
  nb::callable block_;
};

class BoundScheme {
 public:
  BoundScheme(nb::object operations, const std::string& options, const Stack& stack)
      : operations_(std::move(operations)),
        arithmetic_(operations_),
        stack_(stack),
        scheme_(schemes::make(arithmetic_, stack, choice_of(options))) {}

  nb::object forward(nb::object x, nb::callable block) const {
    return scheme_->forward({{operations_, std::move(x)}}, blocks(std::move(block))).value;
  }
  bool calibrates() const { return scheme_->calibrates(); }
  void calibrate(nb::object x, nb::callable block) {
    scheme_->calibrate({{operations_, std::move(x)}}, blocks(std::move(block)));
  }

 private:
  PythonBlocks blocks(nb::callable block) const { return {stack_, operations_, std::move(block)}; }

  nb::object operations_;
  PythonArithmetic arithmetic_;
  Stack stack_;
  std::unique_ptr<schemes::Scheme<PythonArithmetic>> scheme_;
};

// Every scheme with what `residual schemes` prints of it and the schema of its options, as JSON.
std::string list() {
  auto all = nlohmann::ordered_json::array();
  for (const auto& entry : schemes::registry()) {
    Choice choice{.name = entry.name};
    all.push_back({{"name", entry.name},
                   {"paper", entry.paper},
                   {"variants", entry.variants},
                   {"equations", entry.equations},
                   {"parameters", entry.parameters},
                   {"options", json_schema(ConfigFields(
                                   [&](ConfigVisitor& visit) { entry.fields(visit, choice); }))}});
  }
  return all.dump();
}

}  // namespace

void bind_schemes(nb::module_& m) {
  m.def("schemes", &list);
  nb::class_<Stack>(m, "Stack")
      .def(
          "__init__",
          [](Stack* self, const std::string& side, int layers, int other_layers,
             int blocks_per_layer) {
            new (self) Stack(stack_of(side, layers, other_layers, blocks_per_layer));
          },
          nb::arg("side"), nb::arg("layers"), nb::arg("other_layers"), nb::arg("blocks_per_layer"));
  nb::class_<BoundScheme>(m, "Scheme")
      .def(nb::init<nb::object, const std::string&, const Stack&>(), nb::arg("operations"),
           nb::arg("options"), nb::arg("stack"))
      .def("forward", &BoundScheme::forward, nb::arg("x"), nb::arg("block"))
      .def_prop_ro("calibrates", &BoundScheme::calibrates)
      .def("calibrate", &BoundScheme::calibrate, nb::arg("x"), nb::arg("block"));
  m.def(
      "scheme_init",
      [](const std::string& options, const Stack& stack, const std::string& role) {
        const Choice choice = choice_of(options);
        const auto init =
            schemes::find(choice.name).init(value_of<Role>("role", role), stack, choice);
        return nb::make_tuple(kLaws.at(static_cast<size_t>(init.law)), init.gain, init.bias_gain);
      },
      nb::arg("options"), nb::arg("stack"), nb::arg("role"));
}

}  // namespace residual::python
