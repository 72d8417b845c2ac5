#include "serve/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "serve/running.h"
#include "support/shell.h"
#include "support/temporary.h"

namespace residual::serve {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// A directory of certificates that the system's openssl makes.
class Tls : public testing::Test {
 protected:
  // NAME.pem and NAME.key
  void make(const std::string& name) {
    const auto made =
        test::run("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=" + name +
                  " -addext subjectAltName=IP:127.0.0.1 -keyout '" + path(name + ".key") +
                  "' -out '" + path(name + ".pem") + "'");
    ASSERT_EQ(made.exit_code, 0) << made.error;
  }
  std::string path(const std::string& name) const { return directory_ / name; }
  ServerOptions options(const std::string& name) const {
    return {.tls_cert = path(name + ".pem"), .tls_key = path(name + ".key")};
  }

  test::TemporaryDirectory directory_;
};

TEST_F(Tls, SpeaksWithCurlAndOpenssl) {
  make("first");
  const Running server(options("first"));
  EXPECT_THAT(server.address(), testing::StartsWith("https://127.0.0.1:"));
  const std::string trust = "--cacert '" + path("first.pem") + "' ";
  const auto curl = test::run("curl -sS " + trust + server.address() + "/health " +
                              server.address() + "/health -w '%{num_connects} '");
  EXPECT_EQ(curl.output, "{\"status\":\"ok\"}\n1 {\"status\":\"ok\"}\n0 ") << curl.error;
  const auto posted = test::run("curl -sS --compressed " + trust + "-d '{\"text\": \"w1 w2\"}' " +
                                server.address() + "/translate");
  EXPECT_THAT(posted.output, testing::StartsWith("{\"text\":\"")) << posted.error;
  const auto untrusted = test::run("curl -sS " + server.address() + "/health");
  EXPECT_EQ(untrusted.exit_code, 60);
  const auto old =
      test::run("openssl s_client -connect 127.0.0.1:" + std::to_string(server.port()) +
                " -tls1_1 < /dev/null");
  EXPECT_NE(old.exit_code, 0);
  const auto modern =
      test::run("openssl s_client -brief -connect 127.0.0.1:" + std::to_string(server.port()) +
                " -tls1_3 < /dev/null");
  EXPECT_THAT(modern.error, HasSubstr("TLSv1.3"));
}

TEST_F(Tls, ReadsItsCertificateAgain) {
  make("first");
  make("second");
  Running server(options("first"));
  const auto subject = [&] {
    return test::run("openssl s_client -connect 127.0.0.1:" + std::to_string(server.port()) +
                     " < /dev/null 2> /dev/null | openssl x509 -noout -subject")
        .output;
  };
  EXPECT_THAT(subject(), HasSubstr("first"));
  std::ofstream(path("first.pem")) << "damaged";
  server.reload();
  EXPECT_THAT(subject(), HasSubstr("first"));  // keeps what it has
  for (const std::string end : {".pem", ".key"}) {
    std::filesystem::copy_file(path("second" + end), path("first" + end),
                               std::filesystem::copy_options::overwrite_existing);
  }
  server.reload();
  EXPECT_THAT(subject(), HasSubstr("second"));
}

TEST_F(Tls, SaysWhatIsWrongWithItsFiles) {
  make("first");
  make("second");
  ASSERT_EQ(test::run("openssl pkey -in '" + path("first.key") +
                      "' -aes128 -passout pass:x -out '" + path("locked.key") + "'")
                .exit_code,
            0);
  const auto error = [&](const std::string& certificate, const std::string& key) {
    return [=, this] { tls_context(path(certificate), path(key)); };
  };
  EXPECT_NO_THROW(error("first.pem", "first.key")());
  EXPECT_THAT(error("none.pem", "first.key"), ThrowsMessage<Error>(HasSubstr("none.pem")));
  EXPECT_THAT(error("first.pem", "none.key"), ThrowsMessage<Error>(HasSubstr("none.key")));
  EXPECT_THAT(error("first.key", "first.key"),
              ThrowsMessage<Error>(HasSubstr("first.key: expected a certificate chain in PEM")));
  EXPECT_THAT(error("first.pem", "first.pem"),
              ThrowsMessage<Error>(HasSubstr("first.pem: expected the certificate's private key")));
  EXPECT_THAT(
      error("first.pem", "second.key"),
      ThrowsMessage<Error>(HasSubstr("second.key: expected the certificate's private key")));
  EXPECT_THAT(error("first.pem", "locked.key"),
              ThrowsMessage<Error>(HasSubstr("without a passphrase")));
}

// A client that speaks no TLS, or stops in the middle of a handshake, keeps nobody waiting.
TEST_F(Tls, IsNotHeldUpByHandshakes) {
  make("first");
  const Running server(options("first"));
  std::vector<std::unique_ptr<Raw>> silent;
  for (int i = 0; i < 50; ++i) {
    silent.push_back(std::make_unique<Raw>(server.port()));
    silent.back()->send(i % 2 == 0 ? "" : "\x16\x03\x01");
  }
  Raw plain(server.port());
  plain.send("GET /health HTTP/1.1\r\n\r\n");
  EXPECT_EQ(plain.answer().status, 0);
  EXPECT_THAT(test::run("curl -sSk --max-time 5 " + server.address() + "/health").output,
              HasSubstr("ok"));
}

}  // namespace
}  // namespace residual::serve
