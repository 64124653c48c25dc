# weir_add_job(NAME SOURCES...)
#
# A module: libNAME.so, which a task process of weir loads by itself. It holds its own copy of what it uses of weir::job and
# shows nothing but what its sources export by name, so that two versions of it do not meet. What it does not
# define and no library has is an error here, not when it is loaded.
function(weir_add_job name)
  if(NOT ARGN)
    message(FATAL_ERROR "weir_add_job(${name}): no sources")
  endif()
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES
    PREFIX lib SUFFIX .so POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(${name} PRIVATE weir::job)
  # The engine is templates that are compiled here: without a build type they would not be optimised.
  target_compile_options(${name} PRIVATE
    $<$<CONFIG:>:-O2> -fno-omit-frame-pointer $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  target_link_options(${name} PRIVATE LINKER:-z,defs LINKER:--exclude-libs,ALL)
endfunction()
