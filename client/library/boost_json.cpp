// Boost.JSON becomes part of the library, and cannot be seen from outside: who uses it needs no Boost.
#include <boost/json/src.hpp>
