// The rows of the table against services.proto: names, messages, streams, and none left out.

#include "runtime/rpc/methods.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::rpc {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

std::string Row(const std::string& name, const std::string& request, const std::string& response,
                bool streams) {
  return name + "(" + request + ") returns (" + (streams ? "stream " : "") + response + ")";
}

template <typename... Methods>
std::vector<std::string> RowsOf(MethodList<Methods...>) {
  return {Row(Methods::kName, Methods::Request::descriptor()->full_name(),
              Methods::Response::descriptor()->full_name(), Methods::kStreams)...};
}

std::vector<std::string> RowsOf(const ServiceDescriptor& service) {
  std::vector<std::string> rows;
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    EXPECT_FALSE(method.client_streaming()) << method.full_name() << ": no carrier does that";
    rows.push_back(Row(method.name(), method.input_type()->full_name(),
                       method.output_type()->full_name(), method.server_streaming()));
  }
  return rows;
}

template <typename Service>
void ExpectRowsOfProto() {
  const ServiceDescriptor* service =
      DescriptorPool::generated_pool()->FindServiceByName(Service::kName);
  ASSERT_NE(service, nullptr) << Service::kName;
  EXPECT_EQ(RowsOf(typename Service::Methods()), RowsOf(*service)) << Service::kName;
}

TEST(MethodsTest, TheTableSaysWhatServicesProtoSays) {
  ExpectRowsOfProto<JobService>();
  ExpectRowsOfProto<ClusterService>();
  ExpectRowsOfProto<WorkerService>();
  EXPECT_EQ(v1::SubmitRequest::descriptor()->file()->service_count(), 3) << "one is not checked";
}

template <typename Service, typename... Methods>
void ExpectRowsBelongTo(MethodList<Methods...>) {
  static_assert((std::is_same_v<typename Methods::Service, Service> && ...));
}

TEST(MethodsTest, EachRowNamesTheServiceThatListsIt) {
  ExpectRowsBelongTo<JobService>(JobService::Methods());
  ExpectRowsBelongTo<ClusterService>(ClusterService::Methods());
  ExpectRowsBelongTo<WorkerService>(WorkerService::Methods());
}

}  // namespace
}  // namespace weir::rpc
