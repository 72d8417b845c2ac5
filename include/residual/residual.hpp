// The C++ interface of ResiDual (C++17 or later).
//
//   residual::Translator translator("models/de-en", "beam=4 precision=int8");
//   std::cout << translator.translate("Guten Morgen!") << '\n';
//
// This header wraps residual.h with C++ types and exceptions. All functions are inline, so a
// program depends only on the C functions and works with any compiler and standard library. The
// rules of residual.h on text, settings and threads apply here too.
#pragma once

#include <residual/residual.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace residual {

class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Candidate {
  std::string text;
  double score = 0;
  std::string warning;  // what makes it implausible: see residual_warning()
};

class Translator {
 public:
  // Opens a model directory, bundle or run. Settings are words like "beam=4 length_penalty=0.6".
  explicit Translator(const std::string& model, const std::string& settings = "")
      : translator_(residual_open(c_str(model), c_str(settings))) {
    if (!translator_) throw Error(residual_error());
  }

  std::string translate(const std::string& line) const {
    return translate(std::vector<std::string>{line})[0];
  }

  // Returns the best translation of each line.
  std::vector<std::string> translate(const std::vector<std::string>& lines) const {
    const Translations found = run(lines);
    std::vector<std::string> texts;
    texts.reserve(lines.size());
    for (size_t i = 0; i < lines.size(); ++i) texts.emplace_back(residual_text(found.get(), i, 0));
    return texts;
  }

  // Returns the translations of each line, best first. The setting n_best limits their number.
  std::vector<std::vector<Candidate>> candidates(const std::vector<std::string>& lines) const {
    const Translations found = run(lines);
    std::vector<std::vector<Candidate>> all(lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      for (size_t rank = 0; rank < residual_ranks(found.get(), i); ++rank) {
        all[i].push_back({residual_text(found.get(), i, rank), residual_score(found.get(), i, rank),
                          residual_warning(found.get(), i, rank)});
      }
    }
    return all;
  }

  // Returns log p(target | source) of each pair.
  std::vector<double> log_probabilities(const std::vector<std::string>& sources,
                                        const std::vector<std::string>& targets) const {
    if (sources.size() != targets.size()) throw Error("sources and targets differ in number");
    std::vector<double> out(sources.size());
    const int failed =
        residual_log_probabilities(translator_.get(), pointers(sources).data(),
                                   pointers(targets).data(), sources.size(), out.data());
    if (failed != 0) throw Error(residual_error());
    return out;
  }

 private:
  struct Free {
    void operator()(residual_translator* translator) const { residual_close(translator); }
    void operator()(residual_translations* translations) const { residual_free(translations); }
  };
  using Translations = std::unique_ptr<residual_translations, Free>;

  static std::vector<const char*> pointers(const std::vector<std::string>& lines) {
    std::vector<const char*> out;
    out.reserve(lines.size());
    for (const auto& line : lines) out.push_back(c_str(line));
    return out;
  }

  // The C functions would treat a zero byte as the end of the text.
  static const char* c_str(const std::string& text) {
    if (text.find('\0') != std::string::npos) throw Error("text with a zero byte in it");
    return text.c_str();
  }

  Translations run(const std::vector<std::string>& lines) const {
    Translations found(residual_translate(translator_.get(), pointers(lines).data(), lines.size()));
    if (!found) throw Error(residual_error());
    return found;
  }

  std::unique_ptr<residual_translator, Free> translator_;
};

}  // namespace residual
