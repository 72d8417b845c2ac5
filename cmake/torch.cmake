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

# Debian's LibTorch needs libprotobuf, SentencePiece needs libprotobuf-lite, and both define the same
# symbols. A program that has libprotobuf among its direct dependencies resolves all of them there,
# whatever the order of loading; otherwise it crashes before main(). Upstream's LibTorch carries its
# own copy, hidden.
if(TARGET protobuf::libprotobuf)
  target_link_libraries(residual_torch INTERFACE -Wl,--push-state,--no-as-needed
                                                 protobuf::libprotobuf -Wl,--pop-state)
endif()
