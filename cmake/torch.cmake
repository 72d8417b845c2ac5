# Defines LibTorch as target residual_torch: Debian's libtorch-dev, or upstream's 2.x from
# `pip install torch`, found through CMAKE_PREFIX_PATH.
#
# The location of TorchConfig.cmake gives that of LibTorch. The file itself is not read: upstream's
# requires the CUDA toolkit with its compiler even for a program without device code.
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
  # The program names no symbol of this library, so the linker would drop it without this option.
  # Its dependencies are resolved when the program starts.
  target_link_options(residual_torch INTERFACE -Wl,--no-as-needed -Wl,--allow-shlib-undefined)
endif()
foreach(name IN LISTS torch_libraries)
  find_library(TORCH_${name} ${name} REQUIRED NO_DEFAULT_PATH
               PATHS ${torch_prefix}/lib ${torch_prefix}/${CMAKE_LIBRARY_ARCHITECTURE})
  target_link_libraries(residual_torch INTERFACE ${TORCH_${name}})
endforeach()

# Upstream's headers include a copy of fmt, which would hide the version that spdlog and this
# project use. A folder with only the right version comes before both.
if(EXISTS ${TORCH_INCLUDE}/fmt AND NOT TORCH_INCLUDE STREQUAL /usr/include)
  find_path(FMT_INCLUDE fmt/core.h REQUIRED)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fmt_first)
  file(CREATE_LINK ${FMT_INCLUDE}/fmt ${CMAKE_BINARY_DIR}/fmt_first/fmt SYMBOLIC)
  target_include_directories(residual_torch SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/fmt_first)
endif()
target_include_directories(residual_torch SYSTEM INTERFACE
                           ${TORCH_INCLUDE} ${TORCH_INCLUDE}/torch/csrc/api/include)

# Debian's LibTorch needs libprotobuf; SentencePiece contains parts of it, with the same symbols. A
# program crashes before main() unless all symbols come from one library, so libprotobuf must come
# first. A link option comes before the libraries. Upstream's LibTorch contains its own copy.
if(TORCH_INCLUDE STREQUAL /usr/include)
  target_link_options(residual_torch INTERFACE
                      "SHELL:-Wl,--push-state,--no-as-needed -lprotobuf -Wl,--pop-state")
endif()
