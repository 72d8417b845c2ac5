# LibTorch as target residual_torch: Debian's libtorch-dev, or upstream's 2.x, as `pip install torch`
# brings it, through CMAKE_PREFIX_PATH.
#
# TorchConfig.cmake tells where LibTorch is; it is not read, because upstream's demands the CUDA
# toolkit, with its compiler, even of a program that holds no device code.
option(RESIDUAL_CUDA "Load LibTorch's CUDA half as well, if it has one" OFF)

set(torch_places ${Torch_DIR} ${CMAKE_PREFIX_PATH})
string(REPLACE ":" ";" torch_environment "$ENV{CMAKE_PREFIX_PATH}")
find_path(TORCH_CONFIG TorchConfig.cmake NO_DEFAULT_PATH
          PATHS ${torch_places} ${torch_environment} /usr/local /usr
          PATH_SUFFIXES Torch share/cmake/Torch lib/cmake/Torch
                        lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/Torch)
if(NOT TORCH_CONFIG)
  message(FATAL_ERROR "LibTorch was not found. Install Debian's libtorch-dev, or give "
                      "CMAKE_PREFIX_PATH, or build without training: -DRESIDUAL_TRAIN=OFF")
endif()
get_filename_component(torch_prefix ${TORCH_CONFIG}/../../.. ABSOLUTE)
message(STATUS "LibTorch in ${torch_prefix}")
find_path(TORCH_INCLUDE torch/csrc/api/include/torch/torch.h REQUIRED NO_DEFAULT_PATH
          PATHS ${torch_prefix}/include ${torch_prefix}/../include)
get_filename_component(TORCH_INCLUDE ${TORCH_INCLUDE} ABSOLUTE)

add_library(residual_torch INTERFACE)
set(torch_libraries torch_cpu c10)
if(RESIDUAL_CUDA)
  list(APPEND torch_libraries torch_cuda c10_cuda)
  # No symbol of it is named: without this the linker would leave it out. What it needs in turn is
  # looked for when the program starts, not here.
  target_link_options(residual_torch INTERFACE -Wl,--no-as-needed -Wl,--allow-shlib-undefined)
endif()
foreach(name IN LISTS torch_libraries)
  find_library(TORCH_${name} ${name} REQUIRED NO_DEFAULT_PATH
               PATHS ${torch_prefix}/lib ${torch_prefix}/${CMAKE_LIBRARY_ARCHITECTURE})
  target_link_libraries(residual_torch INTERFACE ${TORCH_${name}})
endforeach()

# Upstream's headers come with a copy of fmt's, which would stand before the one that spdlog and
# this project are built with. A folder that holds nothing but the right one stands before both.
if(EXISTS ${TORCH_INCLUDE}/fmt AND NOT TORCH_INCLUDE STREQUAL /usr/include)
  find_path(FMT_INCLUDE fmt/core.h REQUIRED)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fmt_first)
  file(CREATE_LINK ${FMT_INCLUDE}/fmt ${CMAKE_BINARY_DIR}/fmt_first/fmt SYMBOLIC)
  target_include_directories(residual_torch SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/fmt_first)
endif()
target_include_directories(residual_torch SYSTEM INTERFACE
                           ${TORCH_INCLUDE} ${TORCH_INCLUDE}/torch/csrc/api/include)

# Debian's LibTorch needs libprotobuf; SentencePiece carries parts of it, with the same symbols. A
# program crashes before main() unless it finds all of them in one place, so libprotobuf must be the
# first of its libraries: hence an option, which comes before them. Upstream's LibTorch has its own
# copy inside.
if(TORCH_INCLUDE STREQUAL /usr/include)
  target_link_options(residual_torch INTERFACE
                      "SHELL:-Wl,--push-state,--no-as-needed -lprotobuf -Wl,--pop-state")
endif()
