// Implements residual.h with decode::Translator. No exception leaves a function: its text becomes
// residual_error(), and the function returns its failure value.

#include <fmt/ranges.h>
#include <residual/residual.h>

#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "api/settings.h"
#include "base/error.h"
#include "base/version.h"
#include "text/unicode.h"

struct residual_translator {
  residual::decode::Translator translator;
};

struct residual_translations {
  struct Candidate {
    std::string text;
    double score;
    std::string warning;
  };
  std::vector<std::vector<Candidate>> lines;  // best first

  const std::vector<Candidate>& at(size_t line) const {
    residual::require(line < lines.size(),
                      "line {}: out of range; there are {} lines, counted from 0", line,
                      lines.size());
    return lines[line];
  }
  const Candidate& at(size_t line, size_t rank) const {
    const size_t ranks = at(line).size();
    residual::require(
        rank < ranks,
        "line {}, rank {}: out of range; the line has {} translations, counted from 0", line, rank,
        ranks);
    return lines[line][rank];
  }
};

namespace residual::api {
namespace {

// The error of the last call in this thread. The fixed text is used when memory for another text
// cannot be allocated.
thread_local std::string error_text;
thread_local const char* fixed_error = nullptr;

template <class Result, class Body>
Result guarded(Result failure, const Body& body) noexcept {
  fixed_error = nullptr;
  error_text.clear();
  try {
    return body();
  } catch (const std::bad_alloc&) {
    fixed_error = "out of memory";
  } catch (const std::exception& error) {
    try {
      error_text = error.what();
    } catch (...) {
      fixed_error = "out of memory";
    }
  } catch (...) {
    fixed_error = "unknown error";
  }
  return failure;
}

template <class Pointer>
void require_given(Pointer pointer, const char* name) {
  require(pointer != nullptr, "{} is a null pointer", name);
}

std::vector<std::string> lines_of(const char* const* given, size_t count, const char* name) {
  if (count > 0) require_given(given, name);
  std::vector<std::string> lines;
  for (size_t i = 0; i < count; ++i) {
    require(given[i] != nullptr, "{}[{}] is a null pointer", name, i);
    const std::string& line = lines.emplace_back(given[i]);
    require(line.find('\n') == std::string::npos,
            "{}[{}] contains a line break; pass each line separately", name, i);
    const size_t bad = text::find_invalid_utf8(line);
    require(bad == std::string::npos, "{}[{}]: byte {} is not valid UTF-8", name, i, bad + 1);
  }
  return lines;
}

}  // namespace
}  // namespace residual::api

// The functions below have C linkage, names and types.
using namespace residual;       // NOLINT(google-build-using-namespace)
using namespace residual::api;  // NOLINT(google-build-using-namespace)

const char* residual_version(void) {
  static const std::string text(residual::version());
  return text.c_str();
}

const char* residual_error(void) { return fixed_error ? fixed_error : error_text.c_str(); }

residual_translator* residual_open(const char* model, const char* settings) {
  return guarded<residual_translator*>(nullptr, [&] {
    require_given(model, "model");
    const auto options = parse_settings(settings ? settings : "");
    return new residual_translator{{{model}, options}};
  });
}

const char* residual_settings(void) {
  return guarded<const char*>(nullptr, [] {
    static const std::string text = explain_settings();
    return text.c_str();
  });
}

void residual_close(residual_translator* translator) { delete translator; }

residual_translations* residual_translate(residual_translator* translator, const char* const* lines,
                                          size_t count) {
  return guarded<residual_translations*>(nullptr, [&] {
    require_given(translator, "translator");
    auto found = std::make_unique<residual_translations>();
    for (auto& each : translator->translator.translate(lines_of(lines, count, "lines"))) {
      auto& candidates = found->lines.emplace_back();
      for (auto& output : each.outputs) {
        candidates.push_back({std::move(output.text), output.score,
                              fmt::format("{}", fmt::join(output.doubts.names(), " "))});
      }
    }
    return found.release();
  });
}

size_t residual_ranks(const residual_translations* translations, size_t line) {
  return guarded<size_t>(0, [&] {
    require_given(translations, "translations");
    return translations->at(line).size();
  });
}

const char* residual_text(const residual_translations* translations, size_t line, size_t rank) {
  return guarded<const char*>(nullptr, [&] {
    require_given(translations, "translations");
    return translations->at(line, rank).text.c_str();
  });
}

double residual_score(const residual_translations* translations, size_t line, size_t rank) {
  return guarded<double>(std::numeric_limits<double>::quiet_NaN(), [&] {
    require_given(translations, "translations");
    return translations->at(line, rank).score;
  });
}

const char* residual_warning(const residual_translations* translations, size_t line, size_t rank) {
  return guarded<const char*>(nullptr, [&] {
    require_given(translations, "translations");
    return translations->at(line, rank).warning.c_str();
  });
}

void residual_free(residual_translations* translations) { delete translations; }

int residual_log_probabilities(residual_translator* translator, const char* const* sources,
                               const char* const* targets, size_t count,
                               double* log_probabilities) {
  return guarded<int>(-1, [&] {
    require_given(translator, "translator");
    if (count > 0) require_given(log_probabilities, "log_probabilities");
    const auto scored = translator->translator.score(lines_of(sources, count, "sources"),
                                                     lines_of(targets, count, "targets"));
    for (size_t i = 0; i < count; ++i) log_probabilities[i] = scored[i].sum;
    return 0;
  });
}
