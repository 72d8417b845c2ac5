# Settings shared by all targets of the project, and functions that define targets.

# Warnings are errors in our code. Third-party headers are SYSTEM and stay silent. A designated
# initialiser that leaves members at their defaults is our idiom, not a mistake; so is an int as an
# index (clang counts it among -Wconversion, GCC does not).
add_library(residual_options INTERFACE)
target_compile_options(residual_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                  -Wno-sign-conversion
                                                  -Wno-missing-field-initializers -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 warns about overlaps in std::string operations that do not exist (GCC bug 105329).
  target_compile_options(residual_options INTERFACE -Wno-restrict)
  if(RESIDUAL_SANITIZE)
    # It also misreads the code that a sanitizer adds to std::function (std::regex).
    target_compile_options(residual_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(RESIDUAL_SANITIZE)
  add_compile_options(-fsanitize=${RESIDUAL_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${RESIDUAL_SANITIZE})
  # Instrumented kernels compile for minutes, so there is one instruction set instead of five.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_compile_definitions(HWY_COMPILE_ONLY_STATIC)
    add_compile_options(-mavx2 -mfma -mf16c -mbmi -mbmi2 -maes -mpclmul -ffp-contract=off)
  endif()
endif()
if(RESIDUAL_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()

# residual_library(NAME SOURCES file... [DEPENDS folder...] [LINKS target...])
# The static library of one folder of src/, as target residual::NAME.
# DEPENDS names the folders it may include, LINKS third-party targets.
function(residual_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINKS" ${ARGN})
  add_library(residual_${name} STATIC ${arg_SOURCES})
  add_library(residual::${name} ALIAS residual_${name})
  target_include_directories(residual_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(residual_${name} PRIVATE $<BUILD_INTERFACE:residual_options>)
  foreach(folder ${arg_DEPENDS})
    target_link_libraries(residual_${name} PUBLIC residual::${folder})
  endforeach()
  target_link_libraries(residual_${name} PUBLIC ${arg_LINKS})
endfunction()

# residual_compile_quickly(TARGET)
# For code that runs once per command, not once per line: optimising it would take half of the time
# that compiling it takes.
function(residual_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# residual_embed(NAME SYMBOL FILE [NAMESPACE])
# Makes FILE's text available to library NAME as `extern const std::string_view SYMBOL`
# in namespace residual::NAMESPACE (default: NAME). The file is compiled in, so that an installed
# binary needs no data files.
function(residual_embed name symbol file)
  set(namespace ${name})
  if(ARGC GREATER 3)
    set(namespace ${ARGV3})
  endif()
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cpp)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -DGENERATED=${generated} -DSYMBOL=${symbol}
            -DNAMESPACE=residual::${namespace} -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  target_sources(residual_${name} PRIVATE ${generated})
endfunction()

# residual_test(FOLDER SOURCES file... [DEPENDS folder...] [LINKS target...] [LABELS label...]
#               [SLOW filter])
# Defines one test executable per folder; CTest lists each case. Cases that match the GoogleTest
# filter SLOW get the label slow, the others LABELS (default: unit).
# Tests find their data through tests/support/paths.h.
function(residual_test folder)
  cmake_parse_arguments(arg "" "SLOW" "SOURCES;DEPENDS;LINKS;LABELS" ${ARGN})
  add_executable(${folder}_test ${arg_SOURCES})
  target_include_directories(${folder}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${folder}_test PRIVATE residual_test_paths)
  foreach(dependency ${arg_DEPENDS})
    target_link_libraries(${folder}_test PRIVATE residual::${dependency})
  endforeach()
  target_link_libraries(${folder}_test PRIVATE residual_options GTest::gtest GTest::gmock
                                               GTest::gtest_main ${arg_LINKS})
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(arg_SLOW)
    gtest_discover_tests(${folder}_test TEST_PREFIX "${folder}." TEST_FILTER "${arg_SLOW}"
                         DISCOVERY_TIMEOUT 60 PROPERTIES LABELS slow TIMEOUT 600)
    set(others TEST_FILTER "-${arg_SLOW}")
  endif()
  gtest_discover_tests(${folder}_test TEST_PREFIX "${folder}." ${others} DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300)
endfunction()
