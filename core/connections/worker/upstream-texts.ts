import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { isPlainObject } from '../../domain/json/exact-json.ts'
import { catalogItem, itemJson } from '../../domain/tools/catalog-item.ts'
import type { FromWorker, ListEntry, ListKind } from '../protocol.ts'

type Redact = (text: string) => string

/** What things are called, and what a schema is made of: never touched, since calls and checks go by it. */
const STRUCTURE = new Set([
  ...['name', 'uri', 'uriTemplate', 'mimeType', 'type', 'format', 'pattern', 'required'],
  ...['$ref', '$schema', '$id', '$anchor', 'version', 'protocolVersion'],
])

/** Values that are compared, whatever they are made of. */
const COMPARED = new Set(['enum', 'const'])

/** Their members are called as the author likes, so that none of them is one of the above. */
const NAME_MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', '_meta'])

/**
 * What a worker says of an upstream, without the secrets of its server: reasons, remarks, and the texts by which the upstream
 * describes itself and its lists, which go to the database and to everybody who may use the server. Answers to calls do not
 * pass here. Definitions are hashed before, so that a pin holds whatever is secret.
 */
export function withoutSecrets(message: FromWorker, redact: Redact): FromWorker {
  switch (message.type) {
    case 'failed':
      return { ...message, error: { ...message.error, message: redact(message.error.message) } }
    case 'closed':
      return { ...message, reason: { ...message.reason, message: redact(message.reason.message) } }
    case 'log':
      return { ...message, message: redact(message.message) }
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

/** The same of items of a list. Their hashes are those of what the upstream wrote, whatever is taken out here. */
function listWithoutSecrets(kind: ListKind, entries: readonly ListEntry[], redact: Redact): readonly ListEntry[] {
  return entries.map(entry => {
    // Nearly always nothing is found, and the text stays as the upstream wrote it.
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
      // A default is sent as it stands: one with a secret is left out, since rewritten it would be another argument.
      if (key === 'default') return redact(JSON.stringify(item)) === JSON.stringify(item) ? [[key, item]] : []
      return [[key, described(item, redact, NAME_MAPS.has(key))]]
    }),
  )
}
