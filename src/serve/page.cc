#include "serve/page.h"

namespace ghost {

std::string_view PageHtml() {
  static constexpr std::string_view kPage =
#include "serve/page.inc"
      ;
  return kPage;
}

}  // namespace ghost
