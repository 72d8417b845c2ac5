#include "serve/training/runs.h"

#include <fmt/format.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "report/report.h"
#include "review/find.h"
#include "review/review.h"
#include "serve/router.h"

namespace residual::serve {
namespace {

namespace http = boost::beast::http;

constexpr size_t kMostCompared = 32;

// The answer that `make` gives, unless the client has it already.
template <class Make>
Answer tagged(const Request& request, const std::string& stamp, const Make& make) {
  const std::string tag = fmt::format("W/\"{:016x}\"", checksum(stamp));
  const bool is_known = request.header(http::field::if_none_match) == tag;
  Answer answer = is_known ? Answer{.status = 304, .type = "", .body = ""} : Answer{.body = make()};
  answer.headers.emplace_back("ETag", tag);
  answer.headers.emplace_back("Cache-Control", "no-cache");
  return answer;
}

}  // namespace

Runs::Runs(fs::path directory) : directory_(std::move(directory)) {
  require(fs::is_directory(directory_), "{}: is not a directory; --runs expects one with runs",
          directory_.string());
}

Answer Runs::page() {
  return {.type = "text/html; charset=utf-8",
          .body = report::live_html(),
          .headers = {{"Content-Security-Policy",
                       "default-src 'none'; script-src 'unsafe-inline'; style-src "
                       "'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'"}}};
}

void Runs::list(std::shared_ptr<Exchange> exchange) {
  later(std::move(exchange), &Runs::make_list);
}

void Runs::report(std::shared_ptr<Exchange> exchange) {
  later(std::move(exchange), &Runs::make_report);
}

void Runs::later(std::shared_ptr<Exchange> exchange, Make make) {
  workers_.post([this, exchange = std::move(exchange), make] {
    if (*exchange->unwanted()) return exchange->answer(error_answer(503, "not answered in time"));
    try {
      exchange->answer((this->*make)(exchange->request));
    } catch (const Refusal& refusal) {
      exchange->answer(refusal.answer);
    } catch (...) {
      exchange->answer(answer_to(std::current_exception()));
    }
  });
}

Answer Runs::make_list(const Request& request) {
  std::map<std::string, Known> now;
  std::string stamp;
  for (const auto& [name, path] : review::find_runs(directory_)) {
    const std::string own = review::stamp_of(path);
    stamp += name + '\n' + own + '\n';
    const auto before = known_.find(name);
    if (before != known_.end() && before->second.stamp == own) {
      now.insert(*before);
      continue;
    }
    try {
      review::Records records = review::read_records(path);
      records.name = name;
      now[name] = {own, review::summary_of(records)};
    } catch (const Error&) {  // removed meanwhile
    }
  }
  known_ = std::move(now);
  return tagged(request, stamp, [&] {
    std::vector<review::Summary> all;
    for (const auto& [name, known] : known_) all.push_back(known.summary);
    return review::to_json(all) + '\n';
  });
}

Answer Runs::make_report(const Request& request) {
  const auto runs = review::find_runs(directory_);
  const auto [begin, end] = request.query.equal_range("run");
  std::vector<std::pair<std::string, fs::path>> chosen;
  std::string stamp;
  for (auto wanted = begin; wanted != end; ++wanted) {
    const auto found = runs.find(wanted->second);
    if (found == runs.end()) {
      throw Refusal(error_answer(
          404, fmt::format("run: there is no run \"{}\"; see /runs/list", wanted->second)));
    }
    chosen.emplace_back(*found);
    stamp += found->first + '\n' + review::stamp_of(found->second) + '\n';
  }
  if (chosen.empty() || chosen.size() > kMostCompared) {
    throw Refusal(error_answer(
        400, fmt::format("run: expected 1 to {} runs, got {}", kMostCompared, chosen.size())));
  }
  return tagged(request, stamp, [&] {
    std::vector<review::Records> all;
    for (const auto& [name, path] : chosen) {
      all.push_back(review::read_records(path));
      all.back().name = name == "." ? all.back().name : name;
    }
    return report::to_json(all.size() == 1 ? review::report_of(all[0]) : review::compare(all));
  });
}

}  // namespace residual::serve
