#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>

#include "base/error.h"
#include "base/parallel.h"
#include "binding/bind.h"
#include "text/bpe.h"
#include "text/bpe_learner.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace residual::python {
namespace {

using Texts = std::vector<std::string>;

constexpr int64_t kGrain = 256;  // lines

// Lines on all cores. A line with a line end would be several.
Texts transformed(const Texts& lines, const std::function<text::LineTransform()>& make) {
  Texts out(lines.size());
  parallel_for(static_cast<int64_t>(lines.size()), kGrain, [&](int64_t begin, int64_t end) {
    const text::LineTransform transform = make();
    for (int64_t i = begin; i < end; ++i) {
      require(lines[i].find('\n') == std::string::npos,
              "lines[{}] contains a line break; pass each line separately", i);
      transform(lines[i], out[i]);
    }
  });
  return out;
}

Texts tokenize(const Texts& lines, const std::string& language, bool aggressive, bool escape) {
  const text::Tokenizer tokenizer({language, aggressive, escape});
  return transformed(lines, [&] { return std::cref(tokenizer); });
}

Texts detokenize(const Texts& lines, const std::string& language) {
  const text::Detokenizer detokenizer(language);
  return transformed(lines, [&] { return std::cref(detokenizer); });
}

std::string learn_bpe(const Texts& lines, int64_t merges, int64_t min_frequency,
                      bool total_symbols) {
  text::WordCounts words;
  for (const auto& line : lines) text::count_bpe_words(line, words);
  const auto learnt = text::learn_bpe(words, {merges, min_frequency, total_symbols});
  return text::format_codes(learnt);
}

Texts undo_bpe(const Texts& lines, const std::string& separator) {
  return transformed(lines, [&] {
    return [&](std::string_view line, std::string& out) { text::undo_bpe(line, separator, out); };
  });
}

std::shared_ptr<const text::Bpe> make_bpe(const std::string& codes, const std::string& name,
                                          const std::string& separator, int64_t merges,
                                          const std::optional<std::string>& vocabulary,
                                          uint64_t threshold, const Texts& glossaries,
                                          double dropout, uint64_t seed) {
  require(dropout >= 0 && dropout <= 1, "dropout: must be from 0 to 1, is {}", dropout);
  text::BpeOptions options{.separator = separator,
                           .merges = merges,
                           .glossaries = glossaries,
                           .dropout = dropout,
                           .seed = seed};
  if (vocabulary) options.vocabulary = text::read_bpe_vocabulary(*vocabulary, threshold);
  return std::make_shared<const text::Bpe>(codes, name, std::move(options));
}

struct BoundBpe {
  std::shared_ptr<const text::Bpe> codes;
};

}  // namespace

void bind_text(nb::module_& m) {
  const nb::call_guard<nb::gil_scoped_release> without_gil;
  m.def("tokenize", &tokenize, nb::arg("lines"), nb::arg("language"), nb::arg("aggressive"),
        nb::arg("escape"), without_gil);
  m.def("detokenize", &detokenize, nb::arg("lines"), nb::arg("language"), without_gil);
  m.def("learn_bpe", &learn_bpe, nb::arg("lines"), nb::arg("merges"), nb::arg("min_frequency"),
        nb::arg("total_symbols"), without_gil);
  m.def("undo_bpe", &undo_bpe, nb::arg("lines"), nb::arg("separator"), without_gil);
  nb::class_<BoundBpe>(m, "Bpe")
      .def(
          "__init__",
          [](BoundBpe* self, const std::string& codes, const std::string& name,
             const std::string& separator, int64_t merges,
             const std::optional<std::string>& vocabulary, uint64_t threshold,
             const Texts& glossaries, double dropout, uint64_t seed) {
            new (self) BoundBpe{make_bpe(codes, name, separator, merges, vocabulary, threshold,
                                         glossaries, dropout, seed)};
          },
          nb::arg("codes"), nb::arg("name"), nb::arg("separator"), nb::arg("merges"),
          nb::arg("vocabulary").none(), nb::arg("vocabulary_threshold"), nb::arg("glossaries"),
          nb::arg("dropout"), nb::arg("seed"))
      .def(
          "apply",
          [](const BoundBpe& self, const Texts& lines) {
            return transformed(lines, [&] { return text::bpe_transform(self.codes); });
          },
          nb::arg("lines"), without_gil)
      .def("__len__", [](const BoundBpe& self) { return self.codes->size(); });
}

}  // namespace residual::python
