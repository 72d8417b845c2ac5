# Rewrites the version source if the commit has changed. Runs at every build.
execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude *
                WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE commit ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT commit)
  set(commit unknown)
endif()
configure_file(${SOURCE_DIR}/src/base/commit.cpp.in ${GENERATED} @ONLY)
