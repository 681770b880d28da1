import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import type { Actor } from '../contract/records.ts'
import { mapStrings, pointerToken } from '../domain/json/json-pointer.ts'
import { addressesIn, refuseMovedSecrets } from '../domain/server/moved-secrets.ts'
import { isSecretName, looksMasked, maskSecret } from '../domain/server/secrets.ts'
import { validationError } from '../domain/validation-error.ts'

/** The schema of a configuration, if it has one; `unread`: the plugin's module was never loaded. */
export type ConfigShape = JsonObject | undefined | 'unread'

/** Most parts of a schema that are searched. */
const MOST_PARTS = 10_000

/**
 * A configuration for administrators. Masked are texts that the schema calls `writeOnly` or `format: password`, those below a
 * name that says so (`token`, `apiKey`, `Authorization`) unless the schema lists the text, and addresses that hold a password; all texts while nobody has read the
 * plugin's schema.
 */
export function shownConfig(config: JsonObject, shape: ConfigShape): JsonObject {
  const secret = secretTexts(config, shape)
  return mapStrings(config, (text, pointer) => (secret.has(pointer) ? maskSecret(text) : text))
}

/**
 * The configuration that is wanted, with the stored secret in place of each mask. Throws `validation_failed`: for a mask where
 * no secret is stored, and by {@link refuseMovedSecrets} when an address is another one. A plugin's secrets are nobody's own: an
 * administrator who knows only the mask sends none of them elsewhere.
 */
export function keepSecrets(actor: Actor, wanted: JsonObject, stored: JsonObject, shape: ConfigShape): JsonObject {
  const before = textsOf(stored)
  const secret = secretTexts(stored, shape)
  const masks = [...textsOf(wanted)].filter(([, text]) => looksMasked(text)).map(([pointer]) => pointer)
  const unknown = masks.filter(pointer => !secret.has(pointer))
  if (unknown.length > 0) throw unknownMasks(unknown)
  const config = mapStrings(wanted, (text, pointer) => (looksMasked(text) ? (before.get(pointer) ?? text) : text))
  const moved = addressesIn(config) !== addressesIn(stored)
  refuseMovedSecrets(actor, { kept: masks.map(pointer => `#/config${pointer}`), moved, isOwn: false }, Date.now())
  return config
}

function unknownMasks(pointers: readonly string[]) {
  const detail = 'A mask stands here, but no secret is stored: enter the secret'
  return validationError(
    pointers.map(pointer => ({ pointer: `#/config${pointer}`, code: 'secret_required' as const, detail })),
  )
}

function secretTexts(config: JsonObject, shape: ConfigShape): ReadonlySet<string> {
  const found = new Set<string>()
  for (const [pointer, text] of textsOf(config)) {
    if (text === '') continue
    const isNamed = pointer.split('/').some(isSecretName) && !isChoice(shape, pointer, text)
    if (shape === 'unread' || isNamed || holdsPassword(text)) found.add(pointer)
  }
  if (isJsonObject(shape)) new SecretParts(shape, found).visit(shape, config, '')
  return found
}

/** True for one of the texts that the schema lists. They are no secrets, since the API document has the schema. */
function isChoice(shape: ConfigShape, pointer: string, text: string): boolean {
  if (!isJsonObject(shape)) return false
  const part = pointer
    .split('/')
    .slice(1)
    .reduce<JsonValue | undefined>((found, name) => (isJsonObject(found) ? memberOf(found, name) : undefined), shape)
  return isJsonObject(part) && listed(part.enum).includes(text)
}

function holdsPassword(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*@/i.test(text)
}

/** Finds the texts that any branch of a schema calls secret. */
class SecretParts {
  readonly #root: JsonObject
  readonly #found: Set<string>
  #left = MOST_PARTS

  constructor(root: JsonObject, found: Set<string>) {
    this.#root = root
    this.#found = found
  }

  visit(part: JsonValue | undefined, value: JsonValue | undefined, pointer: string): void {
    if (!isJsonObject(part) || value === undefined) return
    this.#left -= 1
    // In a schema that is too large to be searched, anything may be secret.
    if (this.#left < 0 || part.writeOnly === true || part.format === 'password') return this.#add(value, pointer)
    for (const branch of [this.#target(part.$ref), ...listed(part.anyOf), ...listed(part.oneOf), ...listed(part.allOf)])
      this.visit(branch, value, pointer)
    if (Array.isArray(value))
      for (const [at, one] of value.entries()) this.visit(itemOf(part, at), one, `${pointer}/${at}`)
    else if (isJsonObject(value))
      for (const [name, one] of Object.entries(value))
        this.visit(memberOf(part, name), one, `${pointer}/${pointerToken(name)}`)
  }

  #add(value: JsonValue, pointer: string): void {
    for (const [below, text] of textsOf(value)) if (text !== '') this.#found.add(`${pointer}${below}`)
  }

  #target(ref: JsonValue | undefined): JsonValue | undefined {
    if (typeof ref !== 'string' || !ref.startsWith('#')) return undefined
    let part: JsonValue | undefined = this.#root
    for (const token of ref.split('/').slice(1)) {
      const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
      part = isJsonObject(part) && Object.hasOwn(part, name) ? part[name] : undefined
    }
    return part
  }
}

function listed(branches: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(branches) ? branches : []
}

function itemOf({ prefixItems, items }: JsonObject, at: number): JsonValue | undefined {
  return listed(prefixItems)[at] ?? items
}

function memberOf({ properties, additionalProperties }: JsonObject, name: string): JsonValue | undefined {
  return isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : additionalProperties
}

function textsOf(value: JsonValue): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  mapStrings(value, (text, pointer) => {
    found.set(pointer, text)
    return text
  })
  return found
}
