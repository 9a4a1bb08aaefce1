# Flags and helpers shared by every folder:
#   vesta_library(NAME SOURCES... DEPS...)   static library vesta_NAME
#   vesta_test(NAME SOURCES... DEPS...)      GoogleTest binary build/test/NAME_test
#   vesta_fuzz(NAME SOURCES... DEPS...)      build/fuzz/NAME_fuzz: a libFuzzer target when
#                                            VESTA_FUZZ is on, else a program that replays a corpus

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

option(VESTA_FUZZ "Build fuzz targets with libFuzzer (needs clang)" OFF)
set(VESTA_SANITIZE "" CACHE STRING "address (with undefined) or thread")

add_compile_options(-fno-omit-frame-pointer)
if(VESTA_SANITIZE STREQUAL "address")
  # The check of vptr opens a pipe to see whether memory can be read: without descriptors left, which
  # tests bring about, it calls every object bad.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(VESTA_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
endif()
if(VESTA_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# What was compiled in one clone serves another. Not for test programs: their debug information has to
# name the place that they were built in.
function(vesta_share_cache target)
  if(CCACHE)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "env;CCACHE_BASEDIR=${CMAKE_SOURCE_DIR};CCACHE_NOHASHDIR=true;${CCACHE}")
  endif()
endfunction()

find_package(GTest REQUIRED)
find_package(Threads REQUIRED)

add_library(vesta_flags INTERFACE)
target_include_directories(vesta_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(vesta_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor
                            -Wold-style-cast -Werror>)

# All that the sanitizers watch: unit tests and fuzz targets, and what they are made of.
add_custom_target(checks)

function(vesta_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_library(vesta_${name} STATIC ${arg_SOURCES})
  vesta_share_cache(vesta_${name})
  target_link_libraries(vesta_${name} PUBLIC vesta_flags ${arg_DEPS})
endfunction()

# The code of tests themselves is not optimized: to compile it takes longer than to run it.
function(vesta_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name}_test ${arg_SOURCES})
  vesta_share_cache(${name}_test)
  target_compile_options(${name}_test PRIVATE -O0)
  target_link_libraries(${name}_test PRIVATE vesta_flags ${arg_DEPS} GTest::gtest
                                             GTest::gtest_main Threads::Threads)
  add_dependencies(checks ${name}_test)
  set_target_properties(${name}_test PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
endfunction()

function(vesta_fuzz name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  if(VESTA_FUZZ)
    add_executable(${name}_fuzz ${arg_SOURCES})
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${name}_fuzz ${arg_SOURCES} ${CMAKE_SOURCE_DIR}/test/support/replay_corpus.cc)
  endif()
  vesta_share_cache(${name}_fuzz)
  target_link_libraries(${name}_fuzz PRIVATE vesta_flags ${arg_DEPS})
  add_dependencies(checks ${name}_fuzz)
  set_target_properties(${name}_fuzz PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
endfunction()
