#include "serve/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string>

#include "base/error.h"

namespace residual::serve {
namespace {

std::string reason() {
  const char* const text = ERR_reason_error_string(ERR_peek_last_error());
  return text ? text : "unknown error";
}

}  // namespace

std::shared_ptr<TlsContext> tls_context(const fs::path& certificate, const fs::path& key) {
  for (const auto& file : {certificate, key}) read_file(file);  // or fails as usual
  auto context = std::make_shared<TlsContext>(TlsContext::tls_server);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // of idle connections
  SSL_CTX_set_default_passwd_cb(native, [](char*, int, int, void*) { return 0; });
  ERR_clear_error();
  require(SSL_CTX_use_certificate_chain_file(native, certificate.c_str()) == 1,
          "{}: expected a certificate chain in PEM: {}", certificate.string(), reason());
  require(SSL_CTX_use_PrivateKey_file(native, key.c_str(), SSL_FILETYPE_PEM) == 1 &&
              SSL_CTX_check_private_key(native) == 1,
          "{}: expected the certificate's private key in PEM, without a passphrase: {}",
          key.string(), reason());
  return context;
}

}  // namespace residual::serve
