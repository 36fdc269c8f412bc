/** Endpoints of what an agent is handed (contract: Context): its prompt's context, its subjects, a subject's profile. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import {
  ChatAnswer,
  ChatRequest,
  ContextAnswer,
  ContextRequest,
  ProfileParameters,
  SubjectPage,
  SubjectParameters,
  SubjectProfile
} from "../Context.ts"
import { InvalidRequest, NotFound } from "../Errors.ts"
import { SubjectId } from "../Ids.ts"
import { Prices } from "../Plans.ts"
import { GrantHeaders, chargeErrors, chargedGroup, operation } from "./Middleware.ts"

const success = Schema.Literal(true)
const readErrors = [InvalidRequest, NotFound, ...chargeErrors] as const

export class ContextApi extends chargedGroup(
  HttpApiGroup.make("context").add(
    HttpApiEndpoint.post("context", "/context", {
      headers: GrantHeaders,
      payload: ContextRequest,
      success: Schema.Struct({ success, ...ContextAnswer.fields }),
      error: readErrors
    })
      .annotateMerge(
        operation("Get the context for a prompt", {
          description:
            "Text to paste into a prompt, within `maxTokens`: who the subject is, standing instructions and preferences, what changed lately, what is planned, and what bears on the query, messages with their surroundings. The same request gives the same text while nothing changes. Changes nothing, so it may be repeated.",
          price: Prices.context,
          isRead: true
        })
      )
      .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error", reportInput: true }),
    HttpApiEndpoint.post("chat", "/chat", {
      payload: ChatRequest,
      success: Schema.Struct({ success, ...ChatAnswer.fields }),
      error: readErrors
    })
      .annotateMerge(
        operation("Try what a model replies with a context", {
          description:
            "One turn of the service's language model, which is handed the context for the messages: the playground of the console. Stores nothing; `POST /memories` stores the turns. 409 `no_language_model` without one.",
          price: Prices.chat,
          isRead: true
        })
      )
      .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error", reportInput: true }),
    HttpApiEndpoint.get("subjects", "/subjects", {
      query: SubjectParameters,
      success: Schema.Struct({ success, ...SubjectPage.fields }),
      error: readErrors
    }).annotateMerge(
      operation("List subjects", {
        description: "Whom memories belong to, by id, in pages, with the names that they are called by.",
        price: Prices.subjects
      })
    ),
    HttpApiEndpoint.get("profile", "/subjects/:id/profile", {
      params: { id: SubjectId.annotate({ examples: ["user-42"] }) },
      query: ProfileParameters,
      success: Schema.Struct({ success, ...SubjectProfile.fields }),
      error: readErrors
    }).annotateMerge(
      operation("Get a subject's profile", {
        description: "What is known of a subject now, by topic, with what held before. Empty for an unknown one.",
        price: Prices.profile
      })
    )
  )
) {}
