/**
 * The whole HTTP contract. Handlers implement it, clients are checked against it and the
 * OpenAPI document is generated from it (`OpenApiDocument.ts`).
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { Limits } from "../Limits.ts"
import { AccountAdminApi, ConsoleAdminApi, OperatorsAdminApi } from "./AccountAdminApi.ts"
import { AccountApi, CreditsApi, KeysApi } from "./AccountApi.ts"
import { AdminApi } from "./AdminApi.ts"
import { AttestationsApi } from "./AttestationsApi.ts"
import { BackupAdminApi, ConsolidationAdminApi } from "./UpkeepAdminApi.ts"
import { ContextApi } from "./ContextApi.ts"
import { EventsApi, HooksApi } from "./HooksApi.ts"
import { MemoriesApi } from "./MemoriesApi.ts"
import { MoneyAdminApi, WebhookAdminApi } from "./MoneyAdminApi.ts"
import { SchemasApi } from "./SchemasApi.ts"

export class MunimentApi extends HttpApi.make("muniment")
  .add(MemoriesApi)
  .add(ContextApi)
  .add(EventsApi)
  .add(SchemasApi)
  .add(AttestationsApi)
  .add(CreditsApi)
  .add(AccountApi)
  .add(KeysApi)
  .add(HooksApi)
  .add(AdminApi)
  .add(AccountAdminApi)
  .add(MoneyAdminApi)
  .add(BackupAdminApi)
  .add(WebhookAdminApi)
  .add(ConsoleAdminApi)
  .add(OperatorsAdminApi)
  .add(ConsolidationAdminApi)
  // A refusal says which number a time is that was given as a text.
  .annotate(HttpApi.PayloadParseOptions, { reportInput: true })
  .annotateMerge(
    OpenApi.annotations({
      title: "Muniment",
      version: "1",
      description: `Self-hosted long-term memory for software agents: typed memories, searched by meaning and by filters.

**Unknown names.** In a query string and in an object \`filters\` every unknown name is refused: 400 \`unknown_parameter\` with its place and the nearest known name. In a body a name is refused in the same way if it equals a known one but for case, underscores, hyphens or plural (\`subject_id\`, \`agentID\`, \`memory\`), or if it is a scope (\`agentId\`, \`subjectId\`, \`threadId\`, \`filters\`) that the body takes in another place. Bodies of changes (\`PATCH\`, batch update) refuse every unknown field. Other unknown fields are ignored and listed in the response header \`x-ignored-fields\`.

**Bounds of JSON.** An object of a body has at most ${Limits.jsonObjectKeysMax} keys, and a body at most ${Limits.jsonValuesMax} values: objects, arrays and what they hold. More is refused before it is parsed: 400 \`invalid_json\`.`
    })
  ) {}
