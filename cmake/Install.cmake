# `cmake --install` and `cpack -G DEB` (docs/install.md). The program finds its models beside itself, in
# ../share/ghost/models, so the prefix may be anything and may be moved.
include(GNUInstallDirs)
set(described ${PROJECT_BINARY_DIR}/described)  # made by the target ghost after it is linked

install(TARGETS ghost RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/tiny DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/ghost/models)
install(FILES ${described}/ghost.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${described}/ghost.bash DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions RENAME ghost)
install(FILES ${described}/ghost.zsh DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions RENAME _ghost)
install(FILES ${described}/ghost.fish DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

set(CPACK_PACKAGE_NAME ghost)
set(CPACK_PACKAGE_CONTACT "the GHOST developers <ghost@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "prune the recurrent state of Mamba2 language models")
set(CPACK_PACKAGE_DESCRIPTION "GHOST runs Mamba2 and Zamba2 checkpoints on a CPU, measures which channels of their
recurrent state matter, drops the others and writes smaller checkpoints. A small trained model is included.")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "bubblewrap, python3")  # the sandbox of the task humaneval
include(CPack)
