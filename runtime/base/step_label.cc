#include "runtime/base/step_label.h"

#include "absl/strings/str_cat.h"

namespace weir {

std::string StepLabel(const v1::StepOrder& order) {
  switch (order.kind()) {
    case v1::STEP_ORDER_KIND_MAP:
      return absl::StrCat("map ", order.index_in_layer());
    case v1::STEP_ORDER_KIND_WRITE:
      return absl::StrCat("write ", order.index_in_layer());
    default: {
      const std::string name = absl::StrCat("reduce ", order.index_in_layer());
      return order.layer() < 2 ? name : absl::StrCat("layer ", order.layer(), " ", name);
    }
  }
}

}  // namespace weir
