// Compiles Boost.JSON into the library and hides its symbols, so that users need no Boost.
#include <boost/json/src.hpp>
