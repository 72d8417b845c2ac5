#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/models.h"
#include "support/paths.h"

namespace residual {
namespace {

using testing::HasSubstr;

class Serve : public test::ModelCommands {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(test::programs() + "/residual-serve")) {
      GTEST_SKIP() << "this build has no residual-serve";
    }
  }

  // What `asking` prints while a server runs, whose address is $url and whose process is $pid; then
  // the server's exit code.
  static std::string with_server(const std::string& options, const std::string& asking) {
    return output("residual serve --port 0 " + options +
                  " > address 2> log & pid=$!\n"
                  "for i in {1..100}; do [ -s address ] && break; sleep 0.1; done\n"
                  "url=$(cat address)\n" +
                  asking +
                  "\nkill $pid\n"
                  "wait $pid; echo \"exit code $?\"; cat log >&2");
  }
};

TEST_F(Serve, AnswersAsTranslateDoes) {
  const std::string lines = "a b c d e\\n\\nc d\\nf g h\\n";
  const std::string wanted =
      output("printf '" + lines + "' | residual translate --model @resi-dual --beam 3");
  EXPECT_EQ(with_server("--model @resi-dual --beam 3",
                        "curl -sS -H 'Content-Type: text/plain' --data-binary \"$(printf '" +
                            lines + "')\" $url/translate"),
            wanted + "exit code 0\n");
}

TEST_F(Serve, TranslatesEachDirectionOfAModel) {
  output(
      "cp -r @resi-dual @both && cd @both && rm checksums.txt && printf '[[directions]]\\nsource = "
      "\"ba\"\\ntarget = "
      "\"ab\"\\n' >> config.toml");
  const std::string both =
      with_server("--model @both",
                  "curl -sS -d '{\"text\": \"a b c\"}' $url/translate\n"
                  "curl -sS -d '{\"text\": \"a b c\", \"from\": \"ba\"}' $url/translate\n"
                  "curl -sS -d '{\"text\": \"a b c\", \"to\": \"ba\"}' $url/translate\n"
                  "curl -sS -d '{\"text\": \"a b c\", \"to\": \"xx\"}' $url/translate");
  EXPECT_EQ(both,
            "{\"error\":\"from, to: the model translates ab-ba, ba-ab; choose one (from, to)\"}\n"
            "{\"text\":\"c a b\"}\n{\"text\":\"c a b\"}\n"
            "{\"error\":\"from, to: the model does not translate any language to xx; it translates "
            "ab-ba, ba-ab\"}\n"
            "exit code 0\n");
  EXPECT_THAT(with_server("--model @both --from ab --to ba",
                          "curl -sS -d '{\"text\": \"a b c\"}' $url/translate"),
              HasSubstr("c a b"));
}

TEST_F(Serve, TakesPiecesOfAModelWithoutDirections) {
  output(
      "cp -r @resi-dual @pieces && rm @pieces/checksums.txt && sed -i '/directions/,$d' "
      "@pieces/config.toml && "
      "grep -A100 '^.model' @resi-dual/config.toml >> @pieces/config.toml");
  EXPECT_THAT(
      with_server("--model @pieces --pieces", "curl -sS -d '{\"text\": \"a b c\"}' $url/translate"),
      HasSubstr("{\"text\":\"c a b\"}"));
}

TEST_F(Serve, SaysWhatKeepsItFromServing) {
  expect_failure("residual serve --model @nothing", 1, "nothing");
  expect_failure("residual serve --model @resi-dual --host 203.0.113.1", 1, "cannot listen");
  expect_failure("residual serve --model @resi-dual --host no.such.invalid", 1, "no such address");
  expect_failure("residual serve --model @resi-dual --host ''", 2, "--host");
  expect_failure("residual serve --model @resi-dual --port 70000", 2, "--port");
  expect_failure("residual serve --model @resi-dual --beam 0", 2, "--beam");
  expect_failure("residual serve --model @resi-dual --beam 2 --timeout 0", 2, "--timeout");
  expect_failure("residual serve --model @resi-dual --timeout nan", 2,
                 "--timeout: must be a finite number, is nan");
  for (const std::string origin : {"example.org", "https://example.org/", "'https://a b'", "''"}) {
    expect_failure("residual serve --model @resi-dual --allow-origin " + origin, 2,
                   "--allow-origin: expected * or an origin");
  }
  for (const std::string origin : {"'*'", "https://example.org", "http://[::1]:3000"}) {
    expect_failure("residual serve --model @nothing --allow-origin " + origin, 1, "nothing");
  }
  EXPECT_THAT(with_server("--model @resi-dual",
                          "residual serve --model @resi-dual --port ${url##*:} 2>&1; echo $?"),
              HasSubstr("cannot listen: Address already in use\n1\n"));
}

TEST_F(Serve, ReadsCertificateAndKeysAgainOnASignal) {
  const std::string make =
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext "
      "subjectAltName=IP:127.0.0.1 -keyout @tls.key -out @tls.pem 2> /dev/null && "
      "residual serve --new-api-key alice > @keys 2> @secret";
  output(make);
  const std::string got =
      with_server("--model @resi-dual --tls-cert @tls.pem --tls-key @tls.key --api-keys @keys",
                  "ask() { curl -sSk -H \"Authorization: Bearer $1\" -d '{\"text\": \"a b c\"}' "
                  "$url/translate; }\n"
                  "old=$(sed 's/.*: //' @secret)\n"
                  "ask $old\n" +
                      make +
                      "\nkill -HUP $pid\nnew=$(sed 's/.*: //' @secret)\n"
                      "for i in {1..50}; do ask $new | grep -q text && break; sleep 0.1; done\n"
                      "ask $new; ask $old\n"
                      "curl -sS --cacert @tls.pem $url/health");
  EXPECT_EQ(got,
            "{\"text\":\"c a b\"}\n{\"text\":\"c a b\"}\n{\"error\":\"unknown API key\"}\n"
            "{\"status\":\"ok\"}\nexit code 0\n");
}

TEST_F(Serve, SaysWhatIsWrongWithItsCertificateAndKeys) {
  const std::string serve = "residual serve --model @resi-dual ";
  expect_failure(serve + "--tls-cert a.pem", 2, "--tls-cert and --tls-key: each needs the other");
  expect_failure(serve + "--tls-cert a.pem --tls-key a.key", 1, "a.pem: cannot open");
  expect_failure(serve + "--api-keys none", 1, "none: cannot open");
  expect_failure("echo alice > keys; " + serve + "--api-keys keys", 1, "keys:1: expected NAME");
  expect_failure("residual serve --new-api-key 'a b'", 1, "expected a name without spaces");
}

}  // namespace
}  // namespace residual
