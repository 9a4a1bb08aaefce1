// Questions to the store, from the parameters of a request to an answer in the format asked for.
#pragma once

#include <string>

#include "src/server/api.h"
#include "src/server/routes.h"

namespace vesta::server {

// Of a route with a question; `argument` is what its path holds ("" = nothing).
Response AnswerQuestion(store::Store& store, const ApiOptions& options, const Route& route,
                        const std::string& argument, const Request& request,
                        const AnswerContext& context);

// The plan of the question that the parameter `question` names, with what each step read.
Response AnswerExplain(store::Store& store, const ApiOptions& options, const Route& route,
                       const Request& request, const AnswerContext& context);

// All rows of a selection, as a tar file of pprof files.
Response AnswerRows(store::Store& store, const ApiOptions& options, const Request& request,
                    const AnswerContext& context);

}  // namespace vesta::server
