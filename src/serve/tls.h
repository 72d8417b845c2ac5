#pragma once

#include <boost/asio/ssl/context.hpp>

#include <memory>

#include "base/files.h"

namespace residual::serve {

using TlsContext = boost::asio::ssl::context;

// Reads a certificate chain and its private key, both in PEM. Errors name the file. The result
// accepts TLS 1.2 and later.
std::shared_ptr<TlsContext> tls_context(const fs::path& certificate, const fs::path& key);

}  // namespace residual::serve
