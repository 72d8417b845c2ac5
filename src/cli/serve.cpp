// residual serve: translates over HTTP.

#include "cli/serve.h"

#include <fmt/format.h>

#include <memory>
#include <regex>

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
  static const FlagRules rules = {
      .group = group,
      .exceptions = {{.key = "host", .type = "ADDRESS"},
                     {.key = "runs", .type = "DIR"},
                     {.key = "timeout_seconds", .flag = "--timeout", .type = "SECONDS"},
                     {.key = "allow_origin", .type = "ORIGIN"}}};
  Flags flags = add_flags(command, [&](ConfigVisitor& visit) { fields(visit, o); }, rules, {group});
  flags["host"]->check(
      [](const std::string& host) { return host.empty() ? "must not be empty" : ""; });
  flags["allow_origin"]->check(fault_of_origin);
}

}  // namespace

void add_serve(CLI::App& root, const std::function<void(const ServeCommand&)>& run) {
  CLI::App* command = add_command(
      root, "serve",
      "Translate over HTTP: JSON, plain text, and a page; complete texts; show training runs",
      {"residual serve --model models/de-en --precision int8",
       "curl -d '{\"text\": \"Guten Morgen!\"}' localhost:8080/translate",
       "# serve all machines; translate a file of lines",
       "residual serve --model models/de-en --host 0.0.0.0 --port 80",
       "curl -H 'Content-Type: text/plain' --data-binary @test.de server/translate",
       "# completions of a language model, in OpenAI's form",
       "residual serve --model runs/english --port 8081",
       "curl -d '{\"prompt\": \"This package\", \"max_tokens\": 20}' localhost:8081/v1/completions",
       "# show the training runs in runs/ and what is below it, with or without a model",
       "residual serve --runs runs --port 8081", "# with HTTPS and a key for each client",
       "residual serve --new-api-key alice >> keys",
       "residual serve --model models/de-en --host 0.0.0.0 --port 443 --api-keys keys "
       "--tls-cert cert.pem --tls-key key.pem"});
  auto options = std::make_shared<ServeCommand>();
  add_model_options(*command, options->model);
  command->get_option("--model")->required(false);  // checked below
  add_server_options(*command, options->server);
  add_search_options(*command, options->model.translator);
  // Before the check that a model is given, which these do not need.
  command
      ->add_option_function<std::string>(
          "--new-api-key",
          [options, run](const std::string& name) {
            options->new_api_key = name;
            run(*options);
            throw CLI::Success();
          },
          "make an API key: print its line for --api-keys on standard output and the key on "
          "standard error, and stop")
      ->trigger_on_parse()
      ->type_name("NAME")
      ->group("Server");
  command
      ->add_flag_callback(
          "--openapi",
          [options, run] {
            options->is_openapi = true;
            run(*options);
            throw CLI::Success();
          },
          "print the OpenAPI document of the interface, and stop")
      ->group("Server");
  command->callback([options, run] {
    if (options->model.models.empty() && options->server.runs.empty()) {
      throw CLI::RequiredError("--model");
    }
    check_search(options->model);
    const serve::ServerOptions& server = options->server;
    if (server.tls_cert.empty() != server.tls_key.empty()) {
      throw CLI::ValidationError("--tls-cert and --tls-key: each needs the other");
    }
    options->model.translator.any_direction = true;
    run(*options);
  });
}

}  // namespace residual::cli
