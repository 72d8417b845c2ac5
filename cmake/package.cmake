# Debian packages, one for each component of cmake/install.cmake: `cpack` in the build directory.
# The preset `package` sets Debian's prefix. libresidual0 and libresidual-dev are separate from the
# command, as Debian's policy requires: a program that embeds the library does not need the command,
# and two versions of the library can be installed side by side.
set(components residual libresidual libresidual-dev)
if(RESIDUAL_TRAIN)
  list(APPEND components residual-train)
  if(RESIDUAL_MPI)
    list(APPEND components residual-mpi)
  endif()
endif()
if(RESIDUAL_SERVE)
  list(APPEND components residual-serve)
endif()
set(release 1)

# The maintainer of a package is the author of the last commit.
execute_process(COMMAND git log -1 "--format=%an <%ae>" WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                OUTPUT_VARIABLE author OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git log -1 "--format=%aD" WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT author)
  set(author "ResiDual <residual@example.org>")
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
set(CPACK_PACKAGE_CONTACT "${author}" CACHE STRING "Maintainer of Debian packages")

# Formats text as a field of a Debian control file: a space before each line, a dot for empty lines.
file(READ web/vendor/uplot/LICENSE uplot_licence)
string(STRIP "${uplot_licence}" uplot_licence)
string(REPLACE "\n\n" "\n.\n" uplot_licence "${uplot_licence}")
string(REPLACE "\n" "\n " uplot_licence " ${uplot_licence}")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
                                                GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${release})
set(CPACK_DEBIAN_PACKAGE_SOURCE residual)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

# residual_package(COMPONENT PACKAGE SECTION SUMMARY DESCRIPTION [RELATION packages]...)
# A line of DESCRIPTION that starts a paragraph follows a line with a dot.
macro(residual_package component package section summary description)
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${summary}\n${description}")
  set(relations ${ARGN})
  while(relations)
    list(POP_FRONT relations relation packages)
    set(CPACK_DEBIAN_${key}_PACKAGE_${relation} "${packages}")
  endwhile()
  foreach(document copyright changelog)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/debian/${document}.in
                   ${PROJECT_BINARY_DIR}/debian/${package}/${document} @ONLY)
  endforeach()
  install(FILES ${PROJECT_BINARY_DIR}/debian/${package}/copyright
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  execute_process(COMMAND gzip -9nc ${PROJECT_BINARY_DIR}/debian/${package}/changelog
                  OUTPUT_FILE ${PROJECT_BINARY_DIR}/debian/${package}/changelog.Debian.gz)
  install(FILES ${PROJECT_BINARY_DIR}/debian/${package}/changelog.Debian.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endmacro()

set(same_version "(= ${PROJECT_VERSION}-${release})")
set(about "ResiDual trains, studies and runs Transformer translation models with dual
residual connections, and with the residual schemes they are compared with.")
residual_package(
  residual residual text "Transformer translation with dual residual connections"
  "${about}\n.\nThis package has the command: preparing text, translating, scoring and\ninspecting models. It needs no LibTorch."
  RECOMMENDS "curl, ca-certificates, xz-utils" SUGGESTS "residual-train, residual-serve")
residual_package(
  residual-train residual-train science "Transformer translation with dual residuals: training"
  "${about}\n.\nThis package has the program that the commands train and probe run. It\nneeds LibTorch."
  DEPENDS "residual ${same_version}")
residual_package(
  residual-mpi residual-mpi science "Transformer translation with dual residuals: several machines"
  "${about}\n.\nThis package has the module that connects the processes of a training run by\nMPI."
  DEPENDS "residual-train ${same_version}" RECOMMENDS openmpi-bin)
residual_package(
  residual-serve residual-serve net "Transformer translation with dual residuals: server"
  "${about}\n.\nThis package has the program that the command serve runs: translations over\nHTTP."
  DEPENDS "residual ${same_version}")
residual_package(
  libresidual libresidual0 libs "Transformer translation with dual residuals: library"
  "${about}\n.\nThis package has the library that programs translate with, through C\nfunctions."
  CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
residual_package(
  libresidual-dev libresidual-dev libdevel
  "Transformer translation with dual residuals: headers"
  "${about}\n.\nThis package has the headers for C and C++ programs, and what CMake and\npkg-config read."
  DEPENDS "libresidual0 ${same_version}")
include(CPack)
