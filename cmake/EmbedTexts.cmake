# cmake -DTEXTS=file,file... -DINTO=file.cc -DHEADER=header -DFUNCTION=name -P EmbedTexts.cmake
#
# Writes a source file with the texts of these files, so that the program holds them: FUNCTION() returns one
# weir::EmbeddedText a file, whose name is that of the file without its last ".in". HEADER declares it.
cmake_minimum_required(VERSION 3.24)

string(REPLACE "," ";" _files "${TEXTS}")
set(_rows)
foreach(_file IN LISTS _files)
  file(READ "${_file}" _text)
  get_filename_component(_name "${_file}" NAME)
  string(REGEX REPLACE "\\.in$" "" _name "${_name}")
  string(APPEND _rows "    {\"${_name}\", R\"weir_text(${_text})weir_text\"},\n")
endforeach()
file(WRITE "${INTO}" "// Made by cmake/EmbedTexts.cmake.\n\n#include \"${HEADER}\"\n\nnamespace weir::client {\n\n"
  "absl::Span<const EmbeddedText> ${FUNCTION}() {\n  static constexpr EmbeddedText kTexts[] = {\n${_rows}  };\n"
  "  return kTexts;\n}\n\n}  // namespace weir::client\n")
