# BELAY_PROFILE: the program `belay`, optimized with the profile of one under load (docs/internals/adr/0010).
# packaging/build-profiled sets both values in turn, in one build folder:
#   record  the program counts which way each branch goes, and writes the counts into a .gcda file beside each object
#   use     the compiler reads these files, and the linker optimizes the program as one piece. Only for that program
set(BELAY_PROFILE "" CACHE STRING "record or use counts of a program under load; empty: neither")
set_property(CACHE BELAY_PROFILE PROPERTY STRINGS "" record use)

if(BELAY_PROFILE STREQUAL "record")
  # Several threads count.
  add_compile_options(-fprofile-generate -fprofile-update=atomic)
  add_link_options(-fprofile-generate)
elseif(BELAY_PROFILE STREQUAL "use")
  # Functions that the load did not reach are optimized as without counts, and not for size.
  add_compile_options(-fprofile-use -fprofile-correction -fprofile-partial-training -Wno-missing-profile)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  # g++ 12 warns of strings of half the address space where it has inlined most (GCC's bug 105329).
  add_compile_options(-Wno-restrict -Wno-stringop-overflow)
  add_link_options(-Wno-restrict -Wno-stringop-overflow)
elseif(BELAY_PROFILE)
  message(FATAL_ERROR "BELAY_PROFILE is record, use or empty, not ${BELAY_PROFILE}")
endif()
