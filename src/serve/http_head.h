// The request line and headers of a request, before a library reads them: it tolerates what no client should
// send, and what two readers of one request understand differently.
#pragma once

#include <string>
#include <string_view>

namespace ghost {

// What is wrong with a head, as a sentence; empty if nothing is. `head` is everything before the empty line,
// with lines that end in CR LF.
std::string HeadProblem(std::string_view head);

}  // namespace ghost
