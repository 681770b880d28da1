import { createHash } from 'node:crypto'
import type { FieldError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerSettings } from '../../contract/records.ts'
import { canonical } from '../../domain/json/canonical-json.ts'
import { mapStrings, valueAt } from '../../domain/json/json-pointer.ts'
import { serverBodyOf } from '../../domain/server/body.ts'
import { mapOwnTexts, withInlineDocument } from '../../domain/server/openapi.ts'
import { looksMasked, maskSecret, secretFields, secretPointers } from '../../domain/server/secrets.ts'
import { COMMON_FIELDS } from '../../domain/server/server-table.ts'
import type { Transports } from '../../domain/server/transports.ts'
import { isSealed, type Sealer } from '../../secrets/seal.ts'
import type { NewDocument } from './documents.ts'

const PURPOSE = 'server'

/** The record of sealed secrets: they cannot be opened for any other. */
export interface SecretPlace {
  readonly ownerId: string
  readonly id: string
}

type Held = Pick<ServerSettings, 'config' | 'variables' | 'secrets'>

/** Settings with every secret replaced by the result of `replace`. */
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
 * Seals the secrets of settings. An unchanged secret keeps the sealed text of `stored`, so that a save without changes
 * leaves the record identical.
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

/** Opens the secrets of a stored record. Throws HubError `config_invalid` when one cannot be opened. */
export function openSettings<S extends ServerSettings>(sealer: Sealer, place: SecretPlace, stored: S): S {
  return mapSecrets(stored, (sealed, pointer) => sealer.open(PURPOSE, contextOf(place, pointer), sealed))
}

/** All sealed texts of stored settings. */
export function sealedTexts(stored: Held): string[] {
  return [...secretTexts(stored).values()]
}

/** Stored settings with `replace` applied to each encrypted text; the same object if there is none. */
export function resealSettings<S extends Held>(stored: S, replace: (sealed: string, pointer: string) => string): S {
  return mapSecrets(stored, replace)
}

/** Seals a value again for the same field, with the sealer's first key; undefined when it cannot be opened. */
export function resealText(sealer: Sealer, place: SecretPlace, pointer: string, sealed: string): string | undefined {
  const value = opensTo(sealer, place, pointer, sealed)
  return value === undefined ? undefined : sealer.seal(PURPOSE, contextOf(place, pointer), value)
}

/** The sealed texts in a settings-file entry, given as a flat body. */
export function sealedFileTexts(flat: JsonObject): { readonly text: string; readonly pointer: string }[] {
  const found: { text: string; pointer: string }[] = []
  mapOwnTexts(flat, (text, pointer) => {
    if (isSealedField(text, pointer)) found.push({ text, pointer })
    return text
  })
  return found
}

/** True for any field of a transport, whether its plugin runs or not; common fields hold no secrets. */
function isSealedField(text: string, pointer: string): boolean {
  if (!isSealed(text)) return false
  const field = pointer.split('/')[1] ?? ''
  return field === 'variables' || !COMMON_FIELDS.includes(field)
}

/** The flat body with its secrets masked. A secret that cannot be opened is masked without its last characters. */
export function maskedBody(sealer: Sealer, place: SecretPlace, stored: ServerSettings): JsonObject {
  return serverBodyOf(
    mapSecrets(stored, (sealed, pointer) => maskSecret(opensTo(sealer, place, pointer, sealed) ?? '')),
  )
}

/** Replaces masks in these fields of a flat body with the stored secrets. */
export function restoreMasks(
  sealer: Sealer,
  fields: readonly string[],
  flat: JsonObject,
  stored: (SecretPlace & { readonly settings: ServerSettings }) | undefined,
  errors: FieldError[],
): { readonly flat: JsonObject; readonly kept: readonly string[] } {
  const known = stored ? secretTexts(stored.settings) : new Map<string, string>()
  const kept: string[] = []
  const restored = replaceMasks(fields, flat, (text, pointer) => {
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

/**
 * Replaces masks in a flat body with a neutral text, so that the other fields can be validated before the record is known.
 * `masked`: their pointers; problems at these places are meaningless.
 */
export function withoutMasks(
  transports: Transports,
  flat: JsonObject,
): { readonly flat: JsonObject; readonly masked: ReadonlySet<string> } {
  const masked = new Set<string>()
  const unmasked = replaceMasks(secretFields(transports), flat, (_, pointer) => {
    masked.add(`#${pointer}`)
    return 'masked'
  })
  return { flat: unmasked, masked }
}

function replaceMasks(
  fields: readonly string[],
  flat: JsonObject,
  replace: (text: string, pointer: string) => string,
): JsonObject {
  return Object.fromEntries(
    Object.entries(flat).map(([field, value]) => [
      field,
      fields.includes(field)
        ? mapOwnTexts(value, (text, pointer) => (looksMasked(text) ? replace(text, pointer) : text), `/${field}`)
        : value,
    ]),
  )
}

/** Opens values of a settings-file entry that this hub sealed; other values are unchanged. */
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
    const detail = 'The sealed value was made for another server or with another key; enter the secret again'
    errors.push({ pointer: `#${pointer}`, code: 'secret_required', detail })
    return 'x'
  })
}

/** The body to write to the settings file: masks for kept secrets, sealed texts for new ones. */
export function fileBody(
  { sealer, transports }: { readonly sealer: Sealer; readonly transports: Transports },
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
  // Without a new document, the placeholder makes the file keep its own.
  const body = document ? withInlineDocument(shown, document.value) : shown
  // A list that equals the one inferred from the names would only clutter the file.
  const byName = new Set(secretPointers(transports, body))
  const listed = sealed.secrets.length !== byName.size || sealed.secrets.some(pointer => !byName.has(pointer))
  return listed ? { ...body, secrets: secrets ?? [] } : body
}

/** The fields of the flat body that differ between two stored forms. */
export function changedFields(before: ServerSettings, after: ServerSettings): string[] {
  const left = serverBodyOf(before)
  const right = serverBodyOf(after)
  const inferred = before.transportInferred === after.transportInferred ? [] : ['transport']
  const names = new Set([...Object.keys(left), ...Object.keys(right)])
  const differ = [...names].filter(name => canonical(left[name] ?? null) !== canonical(right[name] ?? null))
  return [...new Set([...differ, ...inferred])]
}

/**
 * SHA-256 of all settings whose change requires a new connection. Secrets are hashed in encrypted form, so that the hash cannot
 * be used to test guesses.
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
  // Left out if empty, so that hashes stored by earlier versions stay valid.
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
    // The key was removed from the ring: the secret is lost, and the caller reports it.
    return undefined
  }
}

function contextOf(place: SecretPlace, pointer: string): { owner: string; record: string; field: string } {
  return { owner: place.ownerId, record: place.id, field: pointer }
}
