# LibTorch as target residual_torch: Debian's libtorch-dev, or upstream's through CMAKE_PREFIX_PATH.
find_package(Torch QUIET)
if(NOT Torch_FOUND)
  message(FATAL_ERROR "LibTorch was not found. Install Debian's libtorch-dev, or give "
                      "CMAKE_PREFIX_PATH, or build without training: -DRESIDUAL_TRAIN=OFF")
endif()
message(STATUS "LibTorch ${Torch_VERSION}")
add_library(residual_torch INTERFACE)
target_include_directories(residual_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(residual_torch INTERFACE ${TORCH_LIBRARIES})

# Debian's LibTorch needs libprotobuf; SentencePiece carries parts of it, with the same symbols. A
# program crashes before main() unless it finds all of them in one place, so libprotobuf must be the
# first of its libraries: hence an option, which comes before them. Upstream's LibTorch hides its own
# copy.
if(TARGET protobuf::libprotobuf)
  target_link_options(residual_torch INTERFACE
                      "SHELL:-Wl,--push-state,--no-as-needed -lprotobuf -Wl,--pop-state")
endif()
