# How our own targets are made: one static library per folder, tests beside the code.

add_library(ghost_options INTERFACE)
target_include_directories(ghost_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(ghost_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wno-missing-field-initializers -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough)
# GCC 12 sees overlapping copies in `"text" + std::string` where there are none (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(ghost_options INTERFACE -Wno-restrict)
endif()
if(GHOST_WERROR)
  target_compile_options(ghost_options INTERFACE -Werror)
endif()
if(GHOST_SANITIZE)
  target_compile_options(ghost_options INTERFACE -fsanitize=${GHOST_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(ghost_options INTERFACE -fsanitize=${GHOST_SANITIZE})
endif()

# Folders that arrange work, read options and write text: the optimiser would spend more on them than on the kernels, so it
# gets less to do there. The result of a computation does not depend on the level. Their files with loops that take time
# are listed as HOT_SOURCES and keep the level of the build type.
set(GHOST_COLD_FOLDERS checkpoint cli commands eval io paper prune report serve train)

# Compiles a target's sources together in a few large files (docs/decisions.md, "Build time"): most of the time of a
# small file goes into the templates of its headers, which one large file needs once. CMake itself leaves out files with
# flags of their own.
function(ghost_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${GHOST_UNITY} UNITY_BUILD_BATCH_SIZE 32)
endfunction()

function(ghost_build_faster target folder)
  ghost_unity(${target})
  if(folder IN_LIST GHOST_COLD_FOLDERS)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# ghost_library(base SOURCES a.cc b.cc [HOT_SOURCES c.cc] DEPS ghost_x fmt::fmt)
function(ghost_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;HOT_SOURCES;DEPS" ${ARGN})
  add_library(ghost_${folder} STATIC ${ARG_SOURCES})
  target_link_libraries(ghost_${folder} PUBLIC ghost_options ${ARG_DEPS})
  ghost_build_faster(ghost_${folder} ${folder})
  if(ARG_HOT_SOURCES)
    add_library(ghost_${folder}_hot OBJECT ${ARG_HOT_SOURCES})
    target_link_libraries(ghost_${folder}_hot PRIVATE ghost_options ${ARG_DEPS})
    target_include_directories(ghost_${folder}_hot PRIVATE $<TARGET_PROPERTY:ghost_${folder},INCLUDE_DIRECTORIES>)
    ghost_unity(ghost_${folder}_hot)
    target_sources(ghost_${folder} PRIVATE $<TARGET_OBJECTS:ghost_${folder}_hot>)
  endif()
endfunction()

# ghost_embed_text(module.py generated/folder/module.inc): a text file as a string literal to #include. It is made when
# CMake runs, which happens again when the file changes.
function(ghost_embed_text input output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${input})
  file(READ ${input} text)
  set(mark GHOST_TEXT)
  if(text MATCHES "\\)${mark}\"")
    message(FATAL_ERROR "${input} contains the end of its own literal, )${mark}\"")
  endif()
  file(CONFIGURE OUTPUT ${output} CONTENT "R\"@mark@(@text@)@mark@\"\n" @ONLY)
endfunction()

# ghost_test(error_test SOURCES error_test.cc DEPS ghost_base [LABELS slow])
# Tests run from the source tree's root, so that fixtures have stable relative names. They may include shared
# helpers as "tests/support/..."; those with sources of their own come with DEPS ghost_test_support.
function(ghost_test name)
  if(NOT GHOST_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ghost_options ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS "${ARG_LABELS}")
endfunction()

# ghost_benchmark(scan_bench SOURCES scan_bench.cc DEPS ghost_kernels): Google Benchmark, never run by ctest.
function(ghost_benchmark name)
  if(NOT GHOST_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ghost_options ${ARG_DEPS} benchmark::benchmark)
endfunction()
