# cmake -DSOURCE=file -DGENERATED=out.cpp -DSYMBOL=name -DNAMESPACE=ns -P embed.cmake
# Writes a C++ source holding the file's bytes as an array: a string literal may be limited to
# 65,536 characters.
file(READ ${SOURCE} text HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${text}")
file(WRITE ${GENERATED}.new "// Generated from ${SOURCE}.
#include <string_view>
namespace ${NAMESPACE} {
namespace {
constexpr char kBytes[] = {${bytes}'\\0'};
}
extern const std::string_view ${SYMBOL};
const std::string_view ${SYMBOL}{kBytes, sizeof(kBytes) - 1};
}  // namespace ${NAMESPACE}
")
file(RENAME ${GENERATED}.new ${GENERATED})
