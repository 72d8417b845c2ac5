#pragma once

#include <string>
#include <string_view>

namespace residual {

std::string_view version();  // "0.1.0"
std::string_view
commit();  // commit of the source tree, "-dirty" with local changes; "unknown" without git
std::string_view compiler();  // "GCC 12.2.0"
std::string cpu_features();   // the vector extensions this CPU has, best last

}  // namespace residual
