import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { mapStrings, pointerToken } from '../json/json-pointer.ts'
import { visitValues } from './transport-schema.ts'
import { fieldSchema, propertiesOf, type Transports, transportFields } from './transports.ts'

/** The mask for a secret; its last four characters follow when that is safe. */
const MASK = '••••'

/** Formats of fields that may hold sealed values, besides texts that are `writeOnly`. */
const MAY_HOLD_SECRETS: ReadonlySet<unknown> = new Set([
  ...['environment', 'http-headers', 'command-arguments', 'uri', 'openapi'],
])
/** Formats whose entries are secret if their names say so. */
const SECRET_BY_NAME: ReadonlySet<unknown> = new Set(['environment', 'http-headers'])

const SECRET_NAME = /key|token|secret|passw|pwd|authorization|credential|cookie/i
// A value that only names a variable holds no secret: the variable does.
const ONLY_REFERENCE = /^\$\{[^{}]*\}$/

const AUTH = '/openapi/auth'
const NO_SECRET = new Set(['type', 'in', 'name', 'scheme', 'username', 'clientId', 'tokenUrl', 'openIdConnectUrl'])

/** True when the name of a variable or header indicates a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name)
}

/** The fields of a flat body that may hold sealed values: `variables`, and those of the transports. */
export function secretFields(transports: Transports): readonly string[] {
  const holding = transports
    .all()
    .flatMap(({ schema }) =>
      Object.entries(propertiesOf(schema)).flatMap(([name, part]) => (mayHoldSecrets(part) ? [name] : [])),
    )
  return [...new Set([...holding, 'variables'])]
}

function mayHoldSecrets({ format, writeOnly, properties, items, additionalProperties }: JsonObject): boolean {
  if (writeOnly === true || MAY_HOLD_SECRETS.has(format)) return true
  const inner = [...(isJsonObject(properties) ? Object.values(properties) : []), items, additionalProperties]
  return inner.some(part => isJsonObject(part) && mayHoldSecrets(part))
}

/** Pointers of the values that are secrets by name or by their transport's schema, for a flat body without a list. */
export function secretPointers(transports: Transports, body: JsonObject): string[] {
  const byName: string[] = []
  const others: string[] = []
  for (const field of transportFields(transports)) {
    if (!Object.hasOwn(body, field)) continue
    const schema = fieldSchema(transports, body.transport, field)
    const visit = (part: JsonObject, value: JsonValue, pointer: string): void => {
      if (SECRET_BY_NAME.has(part.format)) collectNamed(value, pointer, byName)
      else if (part.format === 'openapi' && isJsonObject(value) && isJsonObject(value.auth)) {
        collectAuth(value.auth, AUTH, others)
      } else if (part.writeOnly === true && isSecretText(value)) others.push(pointer)
    }
    visitValues(schema, body[field], visit, `/${pointerToken(field)}`)
  }
  collectNamed(body.variables ?? null, '/variables', byName)
  return [...byName, ...others]
}

function collectNamed(map: JsonValue, at: string, found: string[]): void {
  for (const [name, value] of Object.entries(isJsonObject(map) ? map : {})) {
    if (isSecretText(value) && isSecretName(name)) found.push(`${at}/${pointerToken(name)}`)
  }
}

function isSecretText(value: JsonValue): boolean {
  return typeof value === 'string' && value !== '' && !ONLY_REFERENCE.test(value)
}

/** Every string of a scheme except descriptive ones: names such as `value`, or those given by the document, do not show
 * secrecy. */
function collectAuth(auth: JsonObject, at: string, found: string[]): void {
  const isScheme = at !== AUTH || typeof auth.type === 'string'
  for (const [name, item] of Object.entries(auth)) {
    const pointer = `${at}/${pointerToken(name)}`
    if (isJsonObject(item)) collectAuth(item, pointer, found)
    else if (isSecretText(item) && !(isScheme && NO_SECRET.has(name))) found.push(pointer)
  }
}

/** The mask of a secret: with its last four characters only when at least eight stay hidden. */
export function maskSecret(secret: string): string {
  return secret.length >= 12 ? `${MASK}${secret.slice(-4)}` : MASK
}

/** A flat body that was not saved, for display: secrets by name and listed ones are masked. */
export function maskedSecrets(transports: Transports, body: JsonObject): JsonObject {
  const listed = Array.isArray(body.secrets) ? body.secrets : []
  const secret = new Set([...secretPointers(transports, body), ...listed])
  return mapStrings(body, (text, pointer) => (secret.has(pointer) ? maskSecret(text) : text))
}

/** True when a value is a mask, not a secret. */
export function looksMasked(value: string): boolean {
  return value.startsWith(MASK)
}

/** True when a text in the value holds a mask, at any place of it. */
export function holdsMask(value: JsonValue): boolean {
  if (typeof value === 'string') return value.includes(MASK)
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsMask)
}
