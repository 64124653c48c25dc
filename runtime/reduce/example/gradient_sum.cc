// Sums a vector over several processes: one run of this program is one member.
//
//   weir master --listen 127.0.0.1:7117 &
//   for rank in 0 1 2; do gradient_sum 127.0.0.1:7117 3 $rank & done
//
// The last three arguments are for a master that asks for TLS.

#include <weir/reduce.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <span>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: gradient_sum MASTER SIZE RANK [ROUNDS [CERTIFICATE KEY AUTHORITY]]\n";
    return 2;
  }
  weir::reduce::GroupOptions options;
  options.master = argv[1];
  options.group = "gradients";
  options.size = std::atoi(argv[2]);
  options.rank = std::atoi(argv[3]);
  if (argc > 7) {
    options.tls_certificate = argv[5];
    options.tls_key = argv[6];
    options.tls_authority = argv[7];
  }
  const auto group = weir::reduce::Group::Join(options);
  if (!group.ok()) {
    std::cerr << group.status() << '\n';
    return 1;
  }
  std::vector<double> gradient(1000);
  for (int rounds = argc > 4 ? std::atoi(argv[4]) : 1; rounds > 0; --rounds) {
    // Each member's share of a gradient; here simply its rank, so that the sum is known.
    std::fill(gradient.begin(), gradient.end(), 1.0 + (*group)->rank());
    const absl::Status done =
        (*group)->AllReduce(std::span(gradient), weir::reduce::Operation::Sum());
    if (!done.ok()) {
      std::cerr << done << '\n';
      return 1;
    }
  }
  std::cout << "sum " << gradient[0] << " by " << (*group)->LastMethod() << '\n';
  return 0;
}
