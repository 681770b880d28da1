import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { mapStrings, pointerToken } from '../json/json-pointer.ts'

/** What a sealed value looks like from outside; the last four characters follow when they give nothing away. */
const MASK = '••••'

/** The fields in which a value may be sealed. */
export const SECRET_FIELDS = ['env', 'headers', 'variables', 'args', 'url', 'openapi'] as const

const SECRET_NAME = /key|token|secret|passw|pwd|authorization|credential|cookie/i
// A value that only names a variable holds no secret: the variable does.
const ONLY_REFERENCE = /^\$\{[^{}]*\}$/

const AUTH = '/openapi/auth'
const NO_SECRET = new Set(['type', 'in', 'name', 'scheme', 'username', 'clientId', 'tokenUrl', 'openIdConnectUrl'])

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name)
}

/** Pointers of the values that are secrets by their names, where a flat body does not list them itself. */
export function secretPointers(body: JsonObject): string[] {
  const found: string[] = []
  for (const field of ['env', 'headers', 'variables']) {
    const map = body[field]
    if (!isJsonObject(map)) continue
    for (const [name, value] of Object.entries(map)) {
      if (typeof value !== 'string' || value === '' || ONLY_REFERENCE.test(value) || !isSecretName(name)) continue
      found.push(`/${field}/${pointerToken(name)}`)
    }
  }
  const openapi = body.openapi
  if (isJsonObject(openapi) && isJsonObject(openapi.auth)) collectAuth(openapi.auth, AUTH, found)
  return found
}

/** Every text of a scheme but those that say what it is: `value`, or a name given by the document, tells nothing. */
function collectAuth(auth: JsonObject, at: string, found: string[]): void {
  const isScheme = at !== AUTH || typeof auth.type === 'string'
  for (const [name, item] of Object.entries(auth)) {
    const pointer = `${at}/${pointerToken(name)}`
    if (isJsonObject(item)) collectAuth(item, pointer, found)
    else if (typeof item === 'string' && item !== '' && !(isScheme && NO_SECRET.has(name))) {
      if (!ONLY_REFERENCE.test(item)) found.push(pointer)
    }
  }
}

/** How a secret is shown: its last four characters only when at least eight stay hidden. */
export function maskSecret(secret: string): string {
  return secret.length >= 12 ? `${MASK}${secret.slice(-4)}` : MASK
}

/** A flat body that was not saved, as it may be shown: what is a secret by its name, or is listed as one, is masked. */
export function maskedSecrets(body: JsonObject): JsonObject {
  const listed = Array.isArray(body.secrets) ? body.secrets : []
  const secret = new Set([...secretPointers(body), ...listed])
  return mapStrings(body, (text, pointer) => (secret.has(pointer) ? maskSecret(text) : text))
}

/** Whether a value was meant as a mask and not as a secret. */
export function looksMasked(value: string): boolean {
  return value.startsWith(MASK)
}
