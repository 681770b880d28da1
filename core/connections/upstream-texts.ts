import type { JsonObject, JsonValue } from '../contract/json.ts'
import { isPlainObject, parseExact } from '../domain/exact-json.ts'
import type { CatalogTexts, FromWorker } from './protocol.ts'

type Redact = (text: string) => string

/** What things are called, and what a schema is made of: never touched, since calls and checks go by it. */
const STRUCTURE = new Set([
  ...['name', 'uri', 'uriTemplate', 'mimeType', 'type', 'format', 'pattern', 'enum', 'const', 'required'],
  ...['$ref', '$schema', '$id', '$anchor', 'version', 'protocolVersion'],
])

/**
 * What a worker says of an upstream, without live secrets: reasons, remarks, and the texts by which the upstream describes
 * itself and its lists, which go to the database and to everybody who may use the server. Answers to calls do not pass here.
 */
export function withoutSecrets(message: FromWorker, redact: Redact): FromWorker {
  switch (message.type) {
    case 'failed':
      return { ...message, error: { ...message.error, message: redact(message.error.message) } }
    case 'closed':
      return { ...message, reason: { ...message.reason, message: redact(message.reason.message) } }
    case 'log':
      return { ...message, message: redact(message.message) }
    case 'opened': {
      const { serverInfo, instructions } = message
      return {
        ...message,
        serverInfo: described(serverInfo, redact) as JsonObject,
        ...(instructions === undefined ? {} : { instructions: redact(instructions) }),
      }
    }
    case 'catalog':
      return { ...message, json: lists(message.json, redact) }
    default:
      return message
  }
}

function lists(json: CatalogTexts, redact: Redact): CatalogTexts {
  return {
    ...json,
    tools: list(json.tools, redact),
    prompts: list(json.prompts, redact),
    resources: list(json.resources, redact),
    resourceTemplates: list(json.resourceTemplates, redact),
    warnings: json.warnings.map(redact),
  }
}

function list(text: string | null, redact: Redact): string | null {
  // Nearly always nothing is found, and the text stays as the upstream wrote it.
  if (text === null || redact(text) === text) return text
  return JSON.stringify(described(parseExact(text), redact))
}

function described(value: JsonValue, redact: Redact): JsonValue {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map(item => described(item, redact))
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      // A property of a schema may be called `name` as well; what stands there is another object.
      const kept = STRUCTURE.has(key) && (typeof item !== 'object' || Array.isArray(item))
      return [key, kept ? item : described(item, redact)]
    }),
  )
}
