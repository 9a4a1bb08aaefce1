#include "src/wire/otlp_response.h"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace vesta::wire {
namespace {

using protozero::pbf_wire_type;

constexpr uint32_t kPartialSuccess = 1;
constexpr uint32_t kRejectedProfiles = 1;
constexpr uint32_t kErrorMessage = 2;

void ReadPartialSuccess(protozero::pbf_reader reader, OtlpResponse* response) {
  while (reader.next()) {
    if (reader.tag_and_type() ==
        protozero::tag_and_type(kRejectedProfiles, pbf_wire_type::varint)) {
      response->rejected = reader.get_int64();
    } else if (reader.tag_and_type() ==
               protozero::tag_and_type(kErrorMessage, pbf_wire_type::length_delimited)) {
      response->message = reader.get_string();
    } else {
      reader.skip();
    }
  }
}

}  // namespace

std::string EncodeOtlpResponse(const OtlpResponse& response) {
  std::string message;
  if (response == OtlpResponse{}) return message;
  std::string partial;
  protozero::pbf_writer writer(partial);
  if (response.rejected != 0) writer.add_int64(kRejectedProfiles, response.rejected);
  if (!response.message.empty()) writer.add_string(kErrorMessage, response.message);
  protozero::pbf_writer(message).add_message(kPartialSuccess, partial);
  return message;
}

base::Result<OtlpResponse> DecodeOtlpResponse(std::string_view bytes) {
  OtlpResponse response;
  try {
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      if (reader.tag_and_type() ==
          protozero::tag_and_type(kPartialSuccess, pbf_wire_type::length_delimited)) {
        ReadPartialSuccess(reader.get_message(), &response);
      } else {
        reader.skip();
      }
    }
  } catch (const protozero::exception&) {
    return base::Error(base::ErrorCode::kCorrupt, "the answer is no ExportProfilesServiceResponse");
  }
  return response;
}

}  // namespace vesta::wire
