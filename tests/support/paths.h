#pragma once

#include <string>

// Where this build and its sources are. One generated source holds the paths (paths.cpp.in):
// passed to every test as definitions, they would keep checkouts from sharing a ccache.
namespace residual::test {

const std::string& source_tree();
const std::string& fixtures();        // tests/fixtures
const std::string& programs();        // the directory of `residual` and its siblings
const std::string& search_path();     // theirs and that of this build, for PATH
const std::string& fault_library();   // of support/faults.cpp
const std::string& shared_library();  // libresidual.so

}  // namespace residual::test
