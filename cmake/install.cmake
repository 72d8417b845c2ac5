# The components of `cmake --install`:
#   residual          the command without LibTorch, recipes, manual pages, completions
#   residual-train    the program that trains and probes
#   residual-mpi      the module that connects several processes
#   residual-nccl     the module that connects several GPUs, if it was built
#   residual-serve    the program that serves
#   libresidual       the shared library
#   libresidual-dev   its headers and descriptions for CMake and pkg-config
include(CMakePackageConfigHelpers)

# The program generates manual pages and completions from its options, as a tree for share/.
set(share ${PROJECT_BINARY_DIR}/share)
add_custom_command(
  OUTPUT ${share}.stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${share}
  COMMAND residual --share ${share}
  COMMAND gzip -9nr ${share}/man
  COMMAND ${CMAKE_COMMAND} -E touch ${share}.stamp
  DEPENDS residual
  COMMENT "Writing manual pages and completions"
  VERBATIM)
add_custom_target(residual_share ALL DEPENDS ${share}.stamp)

install(TARGETS residual COMPONENT residual)
install(DIRECTORY ${share}/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT residual)
install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/residual COMPONENT residual)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT residual
        FILES_MATCHING PATTERN *.md PATTERN *.svg)

if(RESIDUAL_TRAIN)
  install(TARGETS residual-train COMPONENT residual-train)
  if(RESIDUAL_MPI)
    install(TARGETS residual-mpi DESTINATION ${CMAKE_INSTALL_LIBDIR}/residual COMPONENT residual-mpi)
  endif()
  if(RESIDUAL_NCCL)
    install(TARGETS residual-nccl DESTINATION ${CMAKE_INSTALL_LIBDIR}/residual
            COMPONENT residual-nccl)
  endif()
endif()
if(RESIDUAL_SERVE)
  install(TARGETS residual-serve COMPONENT residual-serve)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/residual)
install(TARGETS libresidual EXPORT residual-targets
        LIBRARY COMPONENT libresidual NAMELINK_COMPONENT libresidual-dev)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libresidual-dev)
install(EXPORT residual-targets NAMESPACE residual:: DESTINATION ${package_dir}
        FILE residual-config.cmake COMPONENT libresidual-dev)
write_basic_package_version_file(residual-config-version.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/residual.pc.in residual.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/residual-config-version.cmake DESTINATION ${package_dir}
        COMPONENT libresidual-dev)
install(FILES ${PROJECT_BINARY_DIR}/residual.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT libresidual-dev)
