# weir_link_archives()
#
# Has the targets of gRPC and Abseil mean their archives, which Debian's packages hold beside the shared libraries: see
# docs/adr/0038-grpc-and-abseil-are-linked-in.md. An error where an archive is not there.
function(weir_link_archives)
  get_property(_targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  list(FILTER _targets INCLUDE REGEX "^(absl|gRPC)::")
  foreach(_target IN LISTS _targets)
    get_target_property(_type ${_target} TYPE)
    if(NOT _type STREQUAL SHARED_LIBRARY)
      continue()
    endif()
    get_target_property(_configuration ${_target} IMPORTED_CONFIGURATIONS)
    list(GET _configuration 0 _configuration)
    get_target_property(_shared ${_target} IMPORTED_LOCATION_${_configuration})
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" _archive "${_shared}")
    if(NOT EXISTS "${_archive}")
      message(FATAL_ERROR "${_target} has no archive ${_archive}: install the -dev packages of deploy/packages.txt, or "
        "configure with -DWEIR_STATIC_PACKAGES=OFF")
    endif()
    set_target_properties(${_target} PROPERTIES IMPORTED_LOCATION_${_configuration} "${_archive}")
  endforeach()
endfunction()

# weir_link_solver_archives(PREFIX)
#
# The same of PkgConfig::PREFIX, a solver of COIN-OR, and of LAPACK below it. What LAPACK says of wrong arguments is
# planner/load's own (linear_program.cc): its own needs Fortran's library.
function(weir_link_solver_archives prefix)
  set(_libraries)
  foreach(_name IN LISTS ${prefix}_STATIC_LIBRARIES)
    if(_name MATCHES "^(pthread|rt|m|bz2|z)$")
      list(APPEND _libraries ${_name})
      continue()
    endif()
    find_library(_weir_archive_${_name} lib${_name}.a PATH_SUFFIXES ${_name})
    if(NOT _weir_archive_${_name})
      message(FATAL_ERROR "There is no lib${_name}.a: install the -dev packages of deploy/packages.txt, or configure with "
        "-DWEIR_STATIC_PACKAGES=OFF")
    endif()
    list(APPEND _libraries "${_weir_archive_${_name}}")
  endforeach()
  set_target_properties(PkgConfig::${prefix} PROPERTIES INTERFACE_LINK_LIBRARIES "${_libraries}")
endfunction()
