// residual serve: translates over HTTP.

#include "cli/serve.h"

#include <fmt/format.h>

#include <memory>
#include <regex>
#include <utility>

#include "cli/command.h"

namespace residual::cli {
namespace {

// Checks for an origin in the form that browsers send; any other form would never match.
std::string fault_of_origin(const std::string& origin) {
  const std::regex form(R"(\*|[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?)");
  if (std::regex_match(origin, form)) return "";
  return fmt::format(
      "expected * or an origin such as https://example.org or http://localhost:3000, in lower case "
      "and without a path, got \"{}\"",
      origin);
}

void add_server_options(CLI::App& command, serve::ServerOptions& o) {
  const std::string group = "Server";
  const auto add = [&](const char* flag, auto& value, const char* what, const char* type) {
    return command.add_option(flag, value, what)->type_name(type)->group(group);
  };
  add("--host", o.host, "address to listen on; 0.0.0.0: all addresses of the machine", "ADDRESS")
      ->check([](const std::string& host) { return host.empty() ? "must not be empty" : ""; })
      ->capture_default_str();
  add("--port", o.port, "port to listen on; 0: any free port", "N")
      ->check(whole(0, 65535))
      ->capture_default_str();
  add("--connections", o.connections, "clients served at the same time; others wait", "N")
      ->check(whole(1, 1000))
      ->capture_default_str();
  add("--max-request", o.max_request, "maximum size of a request in bytes", "N")
      ->check(whole(1, 1 << 30))
      ->capture_default_str();
  add("--max-waiting", o.max_waiting, "maximum number of lines in all pending requests", "N")
      ->check(whole(1, 1 << 30))
      ->capture_default_str();
  add("--timeout", o.timeout_seconds, "time limit for the translation of one request", "SECONDS")
      ->check(between(0.001, 1e8))
      ->capture_default_str();
  add("--allow-origin", o.allow_origin, "other site whose pages may send requests; *: any site",
      "ORIGIN")
      ->check(fault_of_origin);
}

}  // namespace

void add_serve(CLI::App& root, std::function<void(const ServeCommand&)> run) {
  CLI::App* command =
      add_command(root, "serve", "Translate over HTTP: JSON, plain text, and a page to try it on",
                  {"residual serve --model models/de-en --precision int8",
                   "curl -d '{\"text\": \"Guten Morgen!\"}' localhost:8080/translate",
                   "# serve all machines; translate a file of lines",
                   "residual serve --model models/de-en --host 0.0.0.0 --port 80",
                   "curl -H 'Content-Type: text/plain' --data-binary @test.de server/translate"});
  auto options = std::make_shared<ServeCommand>();
  add_model_options(*command, options->model);
  add_server_options(*command, options->server);
  add_search_options(*command, options->model.translator);
  command->callback([options, run = std::move(run)] {
    check_search(options->model);
    options->model.translator.any_direction = true;
    run(*options);
  });
}

}  // namespace residual::cli
