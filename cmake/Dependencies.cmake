# Every library is Debian 12's own package; tools/setup.sh lists them. Nothing is downloaded by the build.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
# The serial build on purpose, whatever the `libblas` alternative points to: we bring our own threads.
find_library(OPENBLAS_LIBRARY NAMES openblas PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial
  NO_DEFAULT_PATH REQUIRED)
find_path(OPENBLAS_INCLUDE cblas.h PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial
  NO_DEFAULT_PATH REQUIRED)
add_library(ghost_openblas INTERFACE)
target_include_directories(ghost_openblas SYSTEM INTERFACE ${OPENBLAS_INCLUDE})
target_link_libraries(ghost_openblas INTERFACE ${OPENBLAS_LIBRARY})
if(GHOST_TESTS)
  find_package(GTest REQUIRED)
  find_package(OpenSSL REQUIRED COMPONENTS Crypto)  # SHA-256 of reference values
endif()
if(GHOST_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
