#include "serve/http_head.h"

#include <gtest/gtest.h>

namespace ghost {
namespace {

TEST(HttpHead, OrdinaryRequests) {
  for (const char* head :
       {"GET / HTTP/1.1", "GET /v1/models?x=1 HTTP/1.0\r\nHost: localhost:8080\r\nX-Empty:",
        "POST /v1/completions HTTP/1.1\r\nhost:x\r\nContent-Length: 12\r\nAccept: */*, text/html;q=0.5",
        "POST / HTTP/1.1\r\nTransfer-Encoding:\tChunked\r\nX: t\303\244g"}) {
    EXPECT_EQ(HeadProblem(head), "") << head;
  }
}

TEST(HttpHead, WhatIsMalformed) {
  for (const char* head : {"",
                           "GET",
                           "GET /",
                           "GET / HTTP/2",
                           "GET / HTTP/9.9",
                           " GET / HTTP/1.1",
                           "GET  / HTTP/1.1",
                           "G\"T / HTTP/1.1",
                           "GET /a b HTTP/1.1",
                           "GET / HTTP/1.1 ",
                           "GET / HTTP/1.1\r\nno colon",
                           "GET / HTTP/1.1\r\n: x",
                           "GET / HTTP/1.1\r\nName : x",
                           "GET / HTTP/1.1\r\nA: b\r\n folded",
                           "GET / HTTP/1.1\r\nA: \x01",
                           "GET / HTTP/1.1\nA: b",
                           "GET / HTTP/1.1\r\nContent-Length: -1",
                           "GET / HTTP/1.1\r\nContent-Length:",
                           "GET / HTTP/1.1\r\nContent-Length: 1, 1",
                           "GET / HTTP/1.1\r\nContent-Length: 9999999999999999999",
                           "GET / HTTP/1.1\r\nContent-Length: 1\r\ncontent-length: 1",
                           "GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
                           "GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked"}) {
    EXPECT_NE(HeadProblem(head), "") << head;
  }
}

}  // namespace
}  // namespace ghost
