# cmake -DROOT=repository -DINTO=directory -DPUBLIC=name=file,name=file... -P MakePublicHeaders.cmake
#
# Writes INTO/weir/NAME for each public header, and into INTO/weir/internal/ each header that these include, under its path
# in the repository and with the includes of ours changed to match. So a user needs one include path (none for /usr), and
# may have folders named jobs or runtime.
cmake_minimum_required(VERSION 3.24)

set(_include "#include \"((jobs|planner|runtime|weir/v1)/[^\"]+)\"")
string(REPLACE "," ";" _rows "${PUBLIC}")
file(REMOVE_RECURSE "${INTO}/weir")

set(_open)
foreach(_row IN LISTS _rows)
  string(REPLACE "=" ";" _row "${_row}")
  list(GET _row 0 _name)
  list(GET _row 1 _file)
  file(WRITE "${INTO}/weir/${_name}" "#pragma once\n\n#include \"weir/internal/${_file}\"  // IWYU pragma: export\n")
  list(APPEND _open "${_file}")
endforeach()

set(_done)
while(_open)
  list(POP_FRONT _open _file)
  if(_file IN_LIST _done)
    continue()
  endif()
  list(APPEND _done "${_file}")
  if(NOT EXISTS "${ROOT}/${_file}")
    message(FATAL_ERROR "a public header needs ${_file}, which cannot be installed: it is not a header of this repository")
  endif()
  file(READ "${ROOT}/${_file}" _text)
  string(REGEX MATCHALL "${_include}" _lines "${_text}")
  foreach(_line IN LISTS _lines)
    string(REGEX REPLACE "${_include}" "\\1" _other "${_line}")
    list(APPEND _open "${_other}")
  endforeach()
  string(REGEX REPLACE "${_include}" "#include \"weir/internal/\\1\"" _text "${_text}")
  file(WRITE "${INTO}/weir/internal/${_file}" "${_text}")
endwhile()
