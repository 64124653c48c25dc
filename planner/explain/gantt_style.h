#pragma once

// Colours and fonts of the Gantt picture. Upstream: gantt_svg.

namespace weir::planner {

// Okabe and Ito's palette: told apart with every common colour blindness.
inline constexpr char kGanttStyle[] = R"(<style>
text{font-family:Helvetica,Arial,sans-serif;fill:#1f2328}
.title{font-size:19px;font-weight:700}.figures{font-size:12.5px;fill:#57606a}
.legend{font-size:11.5px;fill:#424a53}.group{font-size:12px;font-weight:700}
.detail{font-size:10px;fill:#6e7781}.lane{font-size:10px;fill:#57606a;text-anchor:end}
.over{font-size:10px;font-weight:700;fill:#b00020;text-anchor:end}
.tick{font-size:10.5px;fill:#57606a;text-anchor:middle}.mark{font-size:11px;font-weight:700}
.in{font-size:9.5px;pointer-events:none}
.m{fill:#0072B2;stroke:#0072B2}.r{fill:#D55E00;stroke:#D55E00}.c{fill:#CC79A7;stroke:#CC79A7}
.w{fill:#F0E442;stroke:#a89c00}.s{fill:#56B4E9;stroke:#2f8fc6}.v{fill:#009E73;stroke:#009E73}
.h{fill:#7b8794;stroke:#5b6672}
.p rect{fill-opacity:.28;stroke-width:.9}.a rect{stroke-width:.5}
.a .e{stroke:#fff;stroke-width:.8}
.p .k{stroke:#1f2328;stroke-width:1.5}
.light{fill:#fff}.band{fill:#f6f8fa}.grid{stroke:#d8dee4;stroke-width:1}
.edge{stroke:#afb8c1;stroke-width:1}
</style>
)";

}  // namespace weir::planner
