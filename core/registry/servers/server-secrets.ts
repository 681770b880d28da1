import { createHash } from 'node:crypto'
import type { FieldError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerSettings } from '../../contract/records.ts'
import { canonical } from '../../domain/json/canonical-json.ts'
import { mapStrings, valueAt } from '../../domain/json/json-pointer.ts'
import { serverBodyOf } from '../../domain/server/body.ts'
import { mapOwnTexts, withInlineDocument } from '../../domain/server/openapi.ts'
import { looksMasked, maskSecret, SECRET_FIELDS, secretPointers } from '../../domain/server/secrets.ts'
import { isSealed, type Sealer } from '../../secrets/seal.ts'
import type { NewDocument } from './documents.ts'

const PURPOSE = 'server'

/** The place of a record's secrets: they open nowhere else. */
export interface SecretPlace {
  readonly ownerId: string
  readonly id: string
}

type Held = Pick<ServerSettings, 'config' | 'variables' | 'secrets'>

/** Settings with every secret replaced by what `replace` makes of it. */
export function mapSecrets<S extends Held>(settings: S, replace: (value: string, pointer: string) => string): S {
  if (settings.secrets.length === 0) return settings
  const secret = new Set(settings.secrets)
  const held: JsonObject = { ...settings.config, variables: { ...settings.variables } }
  const { variables, ...config } = mapStrings(held, (text, pointer) =>
    secret.has(pointer) ? replace(text, pointer) : text,
  )
  return { ...settings, config, variables: variables as Record<string, string> }
}

/**
 * Seals the secrets of settings. One whose text is unchanged keeps the sealed text of `stored`, so that a save which changes
 * nothing changes nothing.
 */
export function sealSettings(
  sealer: Sealer,
  place: SecretPlace,
  settings: ServerSettings,
  stored: ServerSettings | undefined,
): ServerSettings {
  const known = stored ? secretTexts(stored) : new Map<string, string>()
  return mapSecrets(settings, (text, pointer) => {
    const context = contextOf(place, pointer)
    const before = known.get(pointer)
    if (before !== undefined && opensTo(sealer, place, pointer, before) === text) return before
    return sealer.seal(PURPOSE, context, text)
  })
}

/** Opens the secrets of a stored record. Throws HubError `config_invalid` for one that does not open. */
export function openSettings<S extends ServerSettings>(sealer: Sealer, place: SecretPlace, stored: S): S {
  return mapSecrets(stored, (sealed, pointer) => sealer.open(PURPOSE, contextOf(place, pointer), sealed))
}

/** Every sealed text of settings as they are stored. */
export function sealedTexts(stored: Held): string[] {
  return [...secretTexts(stored).values()]
}

/** Stored settings with `replace` applied to each sealed text; themselves where they have none. */
export function resealSettings<S extends Held>(stored: S, replace: (sealed: string, pointer: string) => string): S {
  return mapSecrets(stored, replace)
}

/** The same value for the same place, sealed with the sealer's first key; undefined when it does not open. */
export function resealText(sealer: Sealer, place: SecretPlace, pointer: string, sealed: string): string | undefined {
  const value = opensTo(sealer, place, pointer, sealed)
  return value === undefined ? undefined : sealer.seal(PURPOSE, contextOf(place, pointer), value)
}

/** The texts of a settings-file entry, as a flat body, that were sealed by a hub. */
export function sealedFileTexts(flat: JsonObject): { readonly text: string; readonly pointer: string }[] {
  const found: { text: string; pointer: string }[] = []
  mapOwnTexts(flat, (text, pointer) => {
    if (isSealedField(text, pointer)) found.push({ text, pointer })
    return text
  })
  return found
}

function isSealedField(text: string, pointer: string): boolean {
  const fields: readonly string[] = SECRET_FIELDS
  return isSealed(text) && fields.includes(pointer.split('/')[1] ?? '')
}

/** The flat body with its secrets masked. One that cannot be opened any more is masked without its last characters. */
export function maskedBody(sealer: Sealer, place: SecretPlace, stored: ServerSettings): JsonObject {
  return serverBodyOf(
    mapSecrets(stored, (sealed, pointer) => maskSecret(opensTo(sealer, place, pointer, sealed) ?? '')),
  )
}

/** Puts stored secrets back where a flat body has their masks. */
export function restoreMasks(
  sealer: Sealer,
  flat: JsonObject,
  stored: (SecretPlace & { readonly settings: ServerSettings }) | undefined,
  errors: FieldError[],
): { readonly flat: JsonObject; readonly kept: readonly string[] } {
  const known = stored ? secretTexts(stored.settings) : new Map<string, string>()
  const kept: string[] = []
  const restored = replaceMasks(flat, (text, pointer) => {
    const sealed = known.get(pointer)
    const value = stored && sealed !== undefined ? opensTo(sealer, stored, pointer, sealed) : undefined
    if (value !== undefined && maskSecret(value) === text) {
      kept.push(pointer)
      return value
    }
    const detail =
      'The masked value fits no secret that is stored in this field of this server; enter the secret itself'
    errors.push({ pointer: `#${pointer}`, code: 'secret_mask', detail })
    return 'x'
  })
  return { flat: restored, kept }
}

/** A flat body whose masks are replaced by harmless texts, to judge everything else of it before its record is known. */
export function withoutMasks(flat: JsonObject): JsonObject {
  return replaceMasks(flat, (_, pointer) => (/^\/(?:url|openapi)/.test(pointer) ? 'https://masked.invalid/' : 'masked'))
}

function replaceMasks(flat: JsonObject, replace: (text: string, pointer: string) => string): JsonObject {
  const fields: readonly string[] = SECRET_FIELDS
  return Object.fromEntries(
    Object.entries(flat).map(([field, value]) => [
      field,
      fields.includes(field)
        ? mapOwnTexts(value, (text, pointer) => (looksMasked(text) ? replace(text, pointer) : text), `/${field}`)
        : value,
    ]),
  )
}

/** Opens values of a settings-file entry that this hub sealed there; the rest is as somebody wrote it. */
export function openFileSecrets(
  sealer: Sealer,
  place: SecretPlace,
  flat: JsonObject,
  errors: FieldError[],
): JsonObject {
  return mapOwnTexts(flat, (text, pointer) => {
    if (!isSealedField(text, pointer)) return text
    const value = opensTo(sealer, place, pointer, text)
    if (value !== undefined) return value
    const detail = 'The sealed value was made for another server or with another key; enter the secret anew'
    errors.push({ pointer: `#${pointer}`, code: 'secret_required', detail })
    return 'x'
  })
}

/** What an edit hands to the settings file: masks for the secrets that it keeps, sealed texts for those that are new. */
export function fileBody(
  sealer: Sealer,
  place: SecretPlace,
  sealed: ServerSettings,
  { kept, document }: { readonly kept: readonly string[]; readonly document?: NewDocument },
): JsonObject {
  const masked = new Set(kept)
  const { secrets, ...shown } = serverBodyOf(
    mapSecrets(sealed, (text, pointer) =>
      masked.has(pointer) ? maskSecret(opensTo(sealer, place, pointer, text) ?? '') : text,
    ),
  )
  // Without a new one, the stand-in says to the file that its own document stays.
  const body = document ? withInlineDocument(shown, document.value) : shown
  // A list that says no more than the names do would be noise in the file.
  const byName = new Set(secretPointers(body))
  const listed = sealed.secrets.length !== byName.size || sealed.secrets.some(pointer => !byName.has(pointer))
  return listed ? { ...body, secrets: secrets ?? [] } : body
}

/** Which fields of the flat body differ between two stored forms. */
export function changedFields(before: ServerSettings, after: ServerSettings): string[] {
  const left = serverBodyOf(before)
  const right = serverBodyOf(after)
  const inferred = before.transportInferred === after.transportInferred ? [] : ['transport']
  const names = new Set([...Object.keys(left), ...Object.keys(right)])
  const differ = [...names].filter(name => canonical(left[name] ?? null) !== canonical(right[name] ?? null))
  return [...new Set([...differ, ...inferred])]
}

/**
 * SHA-256 of all that would need a new connection. It covers the sealed form of the secrets, so that nobody who reads the
 * hash can try out what they might be.
 */
export function configHash(settings: ServerSettings, owner: { id: string; role: string }): string {
  const {
    transport,
    transportInferred = false,
    config,
    variables,
    session = null,
    era,
    isolate,
    healthCheck,
  } = settings
  const { enabled, endpoints } = healthCheck
  // Left out where there are none, so that what was stored under earlier hashes stays theirs.
  const asked = enabled && endpoints && Object.keys(endpoints).length > 0 ? { endpoints: { ...endpoints } } : {}
  const all = { owner: owner.id, role: owner.role, transport, transportInferred, config, variables: { ...variables } }
  return createHash('sha256')
    .update(canonical({ ...all, session, isolate, ...(era === undefined ? {} : { era }), ...asked }))
    .digest('hex')
}

function secretTexts(stored: Held): Map<string, string> {
  const held: JsonObject = { ...stored.config, variables: { ...stored.variables } }
  return new Map(
    stored.secrets.flatMap(pointer => {
      const value = valueAt(held, pointer)
      return typeof value === 'string' ? [[pointer, value] as const] : []
    }),
  )
}

function opensTo(sealer: Sealer, place: SecretPlace, pointer: string, sealed: string): string | undefined {
  try {
    return sealer.open(PURPOSE, contextOf(place, pointer), sealed)
  } catch {
    // A key that went out of the ring: the secret is lost, and the caller says so where it matters.
    return undefined
  }
}

function contextOf(place: SecretPlace, pointer: string): { owner: string; record: string; field: string } {
  return { owner: place.ownerId, record: place.id, field: pointer }
}
