#include "decode/translator.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "api/settings.h"
#include "base/error.h"
#include "binding/bind.h"
#include "binding/interruptible.h"
#include "decode/json.h"

namespace residual::python {
namespace {

using decode::Output;
using decode::Translation;

using Texts = std::vector<std::string>;

// What a call may set for itself.
struct CallSettings {
  std::string source, target;
  decode::TextOptions text;
  decode::SearchOptions search;
};

void fields(ConfigVisitor& visit, CallSettings& s) {
  visit("source", s.source, "source language, if the model has several");
  visit("target", s.target, "target language, if the model has several");
  fields(visit, s.text);
  fields(visit, s.search);
}

struct Call {
  Texts lines, prefixes;       // prefixes: none, or one for each line
  std::vector<Texts> phrases;  // likewise
  std::optional<std::vector<std::pair<std::string, std::string>>> terms;
  std::string settings;
};

class BoundTranslator {
 public:
  BoundTranslator(const Texts& models, const std::string& settings)
      : translator_({models.begin(), models.end()}, options_of(settings)) {}

  std::vector<Translation> translate(const Call& call) {
    check_process();
    decode::Translator::Terms terms = terms_of(call);
    const auto unwanted = std::make_shared<std::atomic<bool>>(false);
    terms.unwanted = unwanted;
    std::vector<Translation> translations;
    translations.reserve(call.lines.size());
    size_t at = 0;
    const auto next = [&]() -> std::optional<decode::SourceLine> {
      if (at == call.lines.size()) return std::nullopt;
      const size_t i = at++;
      return decode::SourceLine{call.lines[i], call.prefixes.empty() ? "" : call.prefixes[i],
                                call.phrases.empty() ? Texts{} : call.phrases[i]};
    };
    const auto deliver = [&](Translation t) { translations.push_back(std::move(t)); };
    interruptibly(*unwanted, [&] {
      translator_.translate({.next = next, .deliver = deliver, .terms = terms});
    });
    return translations;
  }

  std::vector<decode::ScoredLine> score(const Texts& sources, const Texts& targets) const {
    check_process();
    const nb::gil_scoped_release without_gil;
    return translator_.score(sources, targets);
  }

  std::vector<std::pair<std::string, std::string>> directions() const {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& direction : translator_.tools().model->description().directions) {
      all.emplace_back(direction.source, direction.target);
    }
    return all;
  }

 private:
  static decode::TranslatorOptions options_of(const std::string& settings) {
    api::Settings read;
    read_options(settings, read);
    decode::TranslatorOptions options = api::checked(read);
    options.any_direction = true;
    return options;
  }

  // A child of fork() has the memory of its parent's threads, but not the threads.
  void check_process() const {
    require(getpid() == process_,
            "this translator was opened by process {} before it forked process {}; open it in the "
            "process that uses it",
            process_, getpid());
  }

  decode::Translator::Terms terms_of(const Call& call) const {
    const decode::TranslatorOptions& own = translator_.options();
    CallSettings settings{own.source, own.target, own.text, own.search};
    read_options(call.settings, settings);
    decode::check_sampling(settings.search.sampling, own.search.sampling);
    decode::check(settings.search);
    require(settings.search.attention_layer == own.search.attention_layer,
            "attention_layer: set it when the translator is opened");
    decode::Translator::Terms terms;
    terms.search = std::make_shared<const decode::SearchOptions>(settings.search);
    terms.text = settings.text;
    const bool is_other = settings.source != own.source || settings.target != own.target;
    const auto& tools = translator_.tools();
    if (is_other || (!tools.pieces && !tools.to_text)) {
      terms.tools = std::make_shared<const decode::TextTools>(
          tools.towards(settings.source, settings.target));
    }
    if (call.terms) {
      require(call.terms->empty() || !settings.search.sampling.is_on,
              "terms: only allowed in beam search, not in sampling");
      std::vector<decode::Term> all;
      for (const auto& [source, target] : *call.terms) all.push_back({source, target});
      terms.terminology = std::make_shared<const decode::Terminology>(std::move(all));
    }
    return terms;
  }

  decode::Translator translator_;
  pid_t process_ = getpid();
};

nb::object attention_of(const Output& output) {
  if (output.attention.empty()) return nb::none();
  const size_t rows = output.attention.size(), columns = output.attention[0].size();
  auto* numbers = new std::vector<float>;
  const nb::capsule owner(numbers,
                          [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  numbers->reserve(rows * columns);
  for (const auto& row : output.attention) numbers->insert(numbers->end(), row.begin(), row.end());
  return nb::cast(nb::ndarray<nb::numpy, float>(numbers->data(), {rows, columns}, owner));
}

// For each piece, the source piece with the most attention; none if </s> has more.
std::vector<std::pair<size_t, size_t>> alignment_of(const Output& output) {
  require(!output.attention.empty() || output.pieces.empty(),
          "alignment: needs attention; translate with with_attention=True");
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < output.attention.size(); ++i) {
    const auto& row = output.attention[i];
    const auto most = std::ranges::max_element(row);
    if (most == row.end() || *most < output.attention_to_end[i]) continue;
    pairs.emplace_back(most - row.begin(), i);
  }
  return pairs;
}

void bind_results(nb::module_& m) {
  nb::class_<Output>(m, "Hypothesis", "One translation of a line.")
      .def_ro("text", &Output::text)
      .def_ro("score", &Output::score, "what the search ranks by: length-normalised")
      .def_prop_ro("log_probability", &Output::log_probability)
      .def_ro("pieces", &Output::pieces)
      .def_ro("log_probabilities", &Output::log_probabilities, "of the pieces, then of </s>")
      .def_prop_ro(
          "warnings", [](const Output& o) { return o.doubts.names(); },
          "why it is implausible: \"short\", \"repeats\"")
      .def_prop_ro("attention", &attention_of,
                   "[pieces, source pieces]; None unless with_attention was set")
      .def_prop_ro("alignment", &alignment_of,
                   "(source piece, piece) by the highest attention; none where that is </s>'s")
      .def("__str__", [](const Output& o) { return o.text; })
      .def("__repr__", [](const Output& o) {
        return nb::str("Hypothesis({!r}, score={:.4f})").format(o.text, o.score);
      });
  nb::class_<Translation>(m, "Translation", "The translations of a line.")
      .def_ro("n_best", &Translation::outputs, "best first; at least one")
      .def_ro("source_pieces", &Translation::source_pieces)
      .def_prop_ro("best", [](const Translation& t) { return t.outputs.at(0); })
      .def_prop_ro("text", [](const Translation& t) { return t.outputs.at(0).text; })
      .def_prop_ro("score", [](const Translation& t) { return t.outputs.at(0).score; })
      .def_prop_ro("warnings", [](const Translation& t) { return t.outputs.at(0).doubts.names(); })
      .def(
          "json",
          [](const Translation& t, bool with_attention) {
            return decode::dump(decode::to_json(t, with_attention));
          },
          nb::arg("with_attention") = false, "what `residual translate --json` prints of a line")
      .def("__str__", [](const Translation& t) { return t.outputs.at(0).text; })
      .def("__repr__", [](const Translation& t) {
        return nb::str("Translation({!r}, score={:.4f})")
            .format(t.outputs.at(0).text, t.outputs.at(0).score);
      });
  nb::class_<decode::ScoredLine>(m, "ScoredLine", "A line's probability, given its source.")
      .def_ro("log_probability", &decode::ScoredLine::sum)
      .def_ro("pieces", &decode::ScoredLine::pieces)
      .def_ro("log_probabilities", &decode::ScoredLine::log_probabilities,
              "of the pieces, then of </s>");
}

}  // namespace

void bind_translator(nb::module_& m) {
  bind_results(m);
  nb::class_<BoundTranslator>(m, "Translator")
      .def(nb::init<const Texts&, const std::string&>(), nb::arg("models"), nb::arg("settings"),
           nb::call_guard<nb::gil_scoped_release>())
      .def(
          "translate",
          [](BoundTranslator& self, Texts lines, Texts prefixes, std::vector<Texts> phrases,
             std::optional<std::vector<std::pair<std::string, std::string>>> terms,
             std::string settings) {
            return self.translate({std::move(lines), std::move(prefixes), std::move(phrases),
                                   std::move(terms), std::move(settings)});
          },
          nb::arg("lines"), nb::arg("prefixes"), nb::arg("phrases"), nb::arg("terms").none(),
          nb::arg("settings"))
      .def("score", &BoundTranslator::score, nb::arg("sources"), nb::arg("targets"))
      .def_prop_ro("directions", &BoundTranslator::directions);
  m.def("settings_schema",
        [] { return nlohmann::ordered_json(json_schema<api::Settings>()).dump(); });
  m.def("call_settings_schema",
        [] { return nlohmann::ordered_json(json_schema<CallSettings>()).dump(); });
}

}  // namespace residual::python
