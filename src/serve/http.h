// Requests and answers as the service sees them, without the library that transports them (http_server.h).
#pragma once

#include <functional>
#include <map>
#include <string>

namespace ghost {

struct HttpRequest {
  std::string method;
  std::string path;
  std::string body;
  std::string authorization;      // the header's value
  std::string client;             // its address
  std::function<bool()> is_gone;  // whether the client has closed the connection
};

// Fills `bytes` with what to send next, after waiting a little for it; empty means nothing yet. False at the
// end.
using HttpStream = std::function<bool(std::string& bytes)>;

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::map<std::string, std::string> headers;
  HttpStream stream;  // instead of a body
};

}  // namespace ghost
