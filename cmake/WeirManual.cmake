# Man pages and completions, as the program itself writes them, so that they say what --help says.
find_program(WEIR_GZIP gzip REQUIRED)

set(_manual "${CMAKE_BINARY_DIR}/manual")
add_custom_command(OUTPUT "${_manual}/stamp"
  COMMAND "${CMAKE_COMMAND}" -E rm -rf "${_manual}"
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${_manual}/man1" "${_manual}/bash" "${_manual}/zsh" "${_manual}/fish"
  COMMAND weir man -o "${_manual}/man1"
  # -n: no time in it, so that the same source gives the same bytes.
  COMMAND sh -c "exec \"$0\" -9n \"$1\"/*.1" "${WEIR_GZIP}" "${_manual}/man1"
  COMMAND weir completion bash > "${_manual}/bash/weir"
  COMMAND weir completion zsh > "${_manual}/zsh/_weir"
  COMMAND weir completion fish > "${_manual}/fish/weir.fish"
  COMMAND "${CMAKE_COMMAND}" -E touch "${_manual}/stamp"
  DEPENDS weir COMMENT "Man pages and completions" VERBATIM)
add_custom_target(weir_manual DEPENDS "${_manual}/stamp")

install(DIRECTORY "${_manual}/man1" DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT weir)
install(FILES "${_manual}/bash/weir" DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT weir)
install(FILES "${_manual}/zsh/_weir" DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT weir)
install(FILES "${_manual}/fish/weir.fish" DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT weir)
