# Finds OpenBLAS and the C interface of LAPACK and BLAS: target ghost_openblas. Distributions put them in different
# places and under different names. OPENBLAS_LIBRARY and OPENBLAS_INCLUDE on the command line win over the search.

# Debian's serial build first, whatever its `libblas` alternative points to: we bring our own threads.
set(serial ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial)
find_library(OPENBLAS_LIBRARY NAMES openblas PATHS /usr/lib/${serial} NO_DEFAULT_PATH)
find_path(OPENBLAS_INCLUDE cblas.h PATHS /usr/include/${serial} NO_DEFAULT_PATH)

# Then what pkg-config says (Arch, Fedora, Alpine, Homebrew), then the usual folders.
if(NOT OPENBLAS_LIBRARY OR NOT OPENBLAS_INCLUDE)
  pkg_search_module(OPENBLAS_PC QUIET openblas-serial openblas openblas64)
  find_library(OPENBLAS_LIBRARY NAMES openblas openblas-serial openblas_serial libopenblas
    HINTS ${OPENBLAS_PC_LIBRARY_DIRS} PATH_SUFFIXES openblas openblas-serial)
  find_path(OPENBLAS_INCLUDE cblas.h HINTS ${OPENBLAS_PC_INCLUDE_DIRS}
    PATH_SUFFIXES openblas openblas-serial ${CMAKE_LIBRARY_ARCHITECTURE} ${CMAKE_LIBRARY_ARCHITECTURE}/openblas)
endif()
if(NOT OPENBLAS_LIBRARY OR NOT OPENBLAS_INCLUDE)
  message(FATAL_ERROR "OpenBLAS was not found.
  library: ${OPENBLAS_LIBRARY}
  folder of cblas.h: ${OPENBLAS_INCLUDE}
Install it (Debian: libopenblas-serial-dev, Fedora: openblas-devel, Arch: openblas and cblas, Alpine: openblas-dev), or
say where it is: cmake -DOPENBLAS_LIBRARY=/path/libopenblas.so -DOPENBLAS_INCLUDE=/path/with/cblas.h ...")
endif()

add_library(ghost_openblas INTERFACE)
target_include_directories(ghost_openblas SYSTEM INTERFACE ${OPENBLAS_INCLUDE})
target_link_libraries(ghost_openblas INTERFACE ${OPENBLAS_LIBRARY})
