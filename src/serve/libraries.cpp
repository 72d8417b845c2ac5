// The parts of Boost.Asio and Boost.Beast that are not templates, compiled once.

#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
