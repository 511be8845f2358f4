// Which experts a token goes to, and with which weights: from the router's logits, in float32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/view.h"

namespace ghost {

enum class RouterForm {
  kSoftmax,  // the largest logits; weights are their softmax over the chosen ones
  kSigmoid,  // s = sigmoid(logits), the largest s + correction; weights are s, without the correction
};

struct RouterDims {
  int num_experts = 0;  // E
  int num_chosen = 0;   // per token
  RouterForm form = RouterForm::kSoftmax;
  // kSigmoid alone:
  bool correction = false;    // a vector of the file is added to s for the choice
  int num_groups = 1;         // of consecutive experts: those outside the best groups are not considered
  int num_chosen_groups = 1;  // a group is as good as the sum of its two largest values
  bool normalize = true;      // weights are divided by their sum + 1e-20
  float scaling = 1.0f;       // of the weights
};

// A token's place at an expert.
struct Assignment {
  int32_t row = 0;  // of the pass
  float weight = 0.0f;
};

// The assignments of a pass, expert by expert, rows ascending. Entries [begin[e], begin[e + 1]) are those of
// expert e.
struct Routing {
  std::vector<int64_t> begin;           // (E+1)
  std::vector<Assignment> assignments;  // (T * chosen)
  std::vector<int64_t> places;          // (T, chosen): where a row's experts are, in the order of choice
};

// logits: (T, E). `correction` may be null. Ties go to the lower index. The experts of a row are a function
// of that row alone.
Routing Route(const RouterDims& dims, ConstView logits, const float* correction);

// From the gradients of the weights, one per assignment, to those of the logits: (T, E), overwritten. The
// choice is constant.
void RouteBackward(const RouterDims& dims, ConstView logits, const Routing& routing,
                   std::span<const float> dweights, View dlogits);

}  // namespace ghost
