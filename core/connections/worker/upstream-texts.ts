import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { isPlainObject } from '../../domain/json/exact-json.ts'
import { catalogItem, itemJson } from '../../domain/tools/catalog-item.ts'
import type { FromWorker, ListEntry, ListKind } from '../protocol.ts'

type Redact = (text: string) => string

/** Names and the keywords of a schema: never redacted, since calls and validation depend on them. */
const STRUCTURE = new Set([
  ...['name', 'uri', 'uriTemplate', 'mimeType', 'type', 'format', 'pattern', 'required'],
  ...['$ref', '$schema', '$id', '$anchor', 'version', 'protocolVersion'],
])

/** Values that are compared, whatever they contain. */
const COMPARED = new Set(['enum', 'const'])

/** Their keys are chosen by the author, so that none of them is one of the above. */
const NAME_MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', '_meta'])

/**
 * Redacts a server's secrets in what a worker reports: reasons, log messages, and the texts of its handshake and lists,
 * which are stored and shown to everybody who may use the server. Results of calls are not redacted. Definitions are
 * hashed before, so that a pin does not depend on the secrets.
 */
export function withoutSecrets(message: FromWorker, redact: Redact): FromWorker {
  switch (message.type) {
    case 'failed':
      return { ...message, error: { ...message.error, message: redact(message.error.message) } }
    case 'closed':
      return { ...message, reason: { ...message.reason, message: redact(message.reason.message) } }
    case 'log':
      return { ...message, message: redact(message.message) }
    case 'malformed':
      return { ...message, detail: redact(message.detail) }
    case 'health': {
      const { error } = message.report
      if (!error) return message
      return { ...message, report: { ...message.report, error: { ...error, message: redact(error.message) } } }
    }
    case 'opened': {
      const { serverInfo, instructions } = message
      return {
        ...message,
        serverInfo: described(serverInfo, redact) as JsonObject,
        ...(instructions === undefined ? {} : { instructions: redact(instructions) }),
      }
    }
    case 'catalog':
      return { ...message, lists: { ...message.lists, warnings: message.lists.warnings.map(redact) } }
    case 'list':
      return { ...message, entries: listWithoutSecrets(message.kind, message.entries, redact) }
    default:
      return message
  }
}

/** The same for items of a list. Their hashes are those of what the upstream wrote, whatever is redacted here. */
function listWithoutSecrets(kind: ListKind, entries: readonly ListEntry[], redact: Redact): readonly ListEntry[] {
  return entries.map(entry => {
    // Nearly always there is no secret, and the text stays as the upstream wrote it.
    if (typeof entry === 'number' || redact(entry.text) === entry.text) return entry
    return { ...catalogItem(kind, described(itemJson(entry), redact) as JsonObject), hash: entry.hash }
  })
}

function described(value: JsonValue, redact: Redact, isNameMap = false): JsonValue {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map(item => described(item, redact))
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      if (isNameMap) return [[key, described(item, redact)]]
      const isCompared = COMPARED.has(key) || (STRUCTURE.has(key) && (typeof item !== 'object' || Array.isArray(item)))
      if (isCompared) return [[key, item]]
      // A client sends a default unchanged: one with a secret is omitted, since redacted it would be another argument.
      if (key === 'default') return redact(JSON.stringify(item)) === JSON.stringify(item) ? [[key, item]] : []
      return [[key, described(item, redact, NAME_MAPS.has(key))]]
    }),
  )
}
