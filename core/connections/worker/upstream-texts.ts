import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { cutShort } from '../../domain/cut-short.ts'
import { isPlainObject } from '../../domain/json/exact-json.ts'
import { visibleJson } from '../../domain/json/visible-json.ts'
import { visibleName, visibleText } from '../../domain/text/visible-text.ts'
import { catalogItem, itemJson } from '../../domain/tools/catalog-item.ts'
import type { FromWorker, ListEntry, ListKind } from '../protocol.ts'

/** Characters that are shown of the first text that is no MCP message. */
const STRAY_SHOWN = 200

type Redact = (text: string) => string

/** Functions that clean the texts of a message. */
interface Cleaning {
  readonly redact: Redact
  /** Redacts, and shows hidden characters. */
  readonly text: Redact
}

/** Names and the keywords of a schema: never changed, since calls and validation depend on them. */
const STRUCTURE = new Set([
  ...['name', 'uri', 'uriTemplate', 'mimeType', 'type', 'format', 'pattern', 'required'],
  ...['$ref', '$schema', '$id', '$anchor', 'version', 'protocolVersion'],
])

/** Values that are compared, whatever they contain. */
const COMPARED = new Set(['enum', 'const'])

/** Their keys are chosen by the author, so that none of them is one of the above. */
const NAME_MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', '_meta'])

/**
 * Redacts a server's secrets in what a worker reports, and shows its hidden characters (`visibleText`): reasons, log messages,
 * and the texts of its handshake and lists, which are stored and shown to everybody who may use the server. Results of calls
 * stay as they are. Definitions are hashed before, so that a pin does not depend on the secrets.
 */
export function cleaned(message: FromWorker, redact: Redact): FromWorker {
  const cleaning: Cleaning = { redact, text: text => visibleText(redact(text)) }
  const { text } = cleaning
  switch (message.type) {
    case 'failed':
      return { ...message, error: { ...message.error, message: text(message.error.message) } }
    case 'closed':
      return { ...message, reason: { ...message.reason, message: text(message.reason.message) } }
    case 'log':
      return { ...message, message: text(message.message) }
    case 'malformed':
      return { ...message, detail: text(message.detail) }
    case 'stray':
      return { ...message, line: cutShort(text(message.line), STRAY_SHOWN) }
    case 'deviates':
      return { ...message, how: text(message.how) }
    case 'health': {
      const { error } = message.report
      if (!error) return message
      return { ...message, report: { ...message.report, error: { ...error, message: text(error.message) } } }
    }
    case 'opened': {
      const { serverInfo, instructions } = message
      return {
        ...message,
        serverInfo: visibleJson(described(serverInfo, cleaning) as JsonObject),
        ...(instructions === undefined ? {} : { instructions: text(instructions) }),
      }
    }
    case 'catalog':
      return { ...message, lists: { ...message.lists, warnings: message.lists.warnings.map(text) } }
    case 'list':
      return { ...message, entries: message.entries.map(entry => cleanedEntry(message.kind, entry, cleaning)) }
    default:
      return message
  }
}

/** The same for an item of a list. Its hash is that of what the upstream wrote, whatever is changed here. */
function cleanedEntry(kind: ListKind, entry: ListEntry, { redact, text }: Cleaning): ListEntry {
  // Nearly always there is nothing to change, and the text stays as the upstream wrote it.
  if (typeof entry === 'number' || (redact(entry.text) === entry.text && !mayHide(entry.text))) return entry
  let changed = redact(entry.text) !== entry.text
  const noting = (given: string): string => {
    const result = text(given)
    if (result !== given) changed = true
    return result
  }
  const item = described(itemJson(entry), { redact, text: noting }) as JsonObject
  // The address identifies a resource; its name is for people alone.
  const isNamedOnly = kind === 'resources' || kind === 'resourceTemplates'
  const name = isNamedOnly && typeof item.name === 'string' ? visibleName(item.name) : item.name
  if (!changed && name === item.name) return entry
  return { ...catalogItem(kind, name === undefined ? item : { ...item, name }), hash: entry.hash }
}

/** True when a JSON text may contain hidden characters, raw or escaped. */
function mayHide(json: string): boolean {
  return /\\[bfru]/.test(json) || visibleText(json) !== json
}

function described(value: JsonValue, cleaning: Cleaning, isNameMap = false): JsonValue {
  const { redact, text } = cleaning
  if (typeof value === 'string') return text(value)
  if (Array.isArray(value)) return value.map(item => described(item, cleaning))
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      if (isNameMap) return [[key, described(item, cleaning)]]
      const isCompared = COMPARED.has(key) || (STRUCTURE.has(key) && (typeof item !== 'object' || Array.isArray(item)))
      if (isCompared) return [[key, item]]
      // A client sends a default unchanged: one with a secret is omitted, since redacted it would be another argument.
      if (key === 'default') return redact(JSON.stringify(item)) === JSON.stringify(item) ? [[key, item]] : []
      return [[key, described(item, cleaning, NAME_MAPS.has(key))]]
    }),
  )
}
