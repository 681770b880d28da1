import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { ServerRecord } from '../../contract/records.ts'
import { guardJson } from '../../domain/json/json-guard.ts'
import { mergePatch } from '../../domain/json/merge-patch.ts'
import { SERVER_JSON } from '../../domain/server/body.ts'
import { withFactsOf } from '../../domain/server/document-facts.ts'
import type { Transports } from '../../domain/server/transports.ts'
import { patchedSecrets } from './server-draft.ts'

/** The full body after applying a patch to the body that its sender saw. */
export function patchedBody(
  transports: Transports,
  seen: JsonObject,
  record: ServerRecord,
  patch: JsonObject,
): JsonObject {
  const { secrets: _, ...base } = seen
  const left = { ...base }
  // A field that determines the transport was added or removed: infer the transport again unless the patch has it.
  const decided = ['command', 'url', 'openapi'].some(
    field => Object.hasOwn(patch, field) && (patch[field] === null) === Object.hasOwn(base, field),
  )
  if (record.transportInferred || decided) delete left.transport
  // A timeout above the longest one raises that too, unless the patch sets it.
  const timeout = typeof patch.timeout === 'number' ? patch.timeout : 0
  if (!Object.hasOwn(patch, 'maxTimeout') && timeout > record.maxTimeoutMs) delete left.maxTimeout
  if (patch.disabled !== undefined && !Object.hasOwn(patch, 'enabled')) delete left.enabled
  const body = withWholeDocument(mergePatch(left, patch), patch)
  // The size limit of one body also holds for the sum of many small patches.
  guardJson(body, SERVER_JSON)
  if (Object.hasOwn(patch, 'secrets') && patch.secrets !== null) return body
  return { ...body, secrets: patchedSecrets(transports, base, body, record.secrets) }
}

/** A document is replaced as a whole: the patch is not merged into it, and its nulls are data. */
function withWholeDocument(body: JsonObject, patch: JsonObject): JsonObject {
  const { openapi } = patch
  if (!isJsonObject(openapi) || !isJsonObject(body.openapi)) return body
  if (typeof openapi.schema === 'string') return withFactsOf(body, patch)
  if (!isJsonObject(openapi.schema)) return body
  return { ...body, openapi: { ...body.openapi, schema: openapi.schema } }
}
