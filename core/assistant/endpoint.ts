import { createHash, randomBytes } from 'node:crypto'
import type { JsonObject } from '../contract/json.ts'
import type { AddressRights } from '../domain/address.ts'
import { readName } from '../domain/alerts/rule-body.ts'
import { ANSWERED_FIELDS, Fields } from '../domain/json/fields.ts'
import { refuseClosedHost } from '../domain/server/permitted-host.ts'
import { maskSecret } from '../domain/server/secrets.ts'
import { validationError } from '../domain/validation-error.ts'
import type { OwnedSetting, Prepare } from '../registry/owned/settings.ts'
import type { Sealer } from '../secrets/seal.ts'
import { ENDPOINT_SECRETS } from './kind.ts'

const FIELDS = ['name', 'direction', 'url', 'group', 'enabled', 'limits']
const ANSWER_FIELDS = [...ANSWERED_FIELDS, 'kind', 'view', 'last4', 'status']
const DIRECTIONS = ['outbound', 'inbound'] as const
const MOST_URL_BYTES = 4_096
/** A segment of a path of this length or more may be a key, as in capability URLs. */
const LONG_SEGMENT = 16

/** Scope of an endpoint: a group, one server as a group, or all that its owner may use. */
export interface EndpointTarget {
  readonly kind: 'group' | 'server' | 'all'
  /** Empty for all. */
  readonly id: string
  /** The word of a view in which it is seen, such as `smart`. */
  readonly view?: string
}

/** Stored form of an endpoint, without its encrypted URL. */
export interface StoredEndpoint {
  readonly name: string
  readonly direction: (typeof DIRECTIONS)[number]
  readonly target: EndpointTarget
  readonly enabled: boolean
  readonly limits: { readonly tools: number; readonly resultCharacters: number }
  /** Inbound: SHA-256 (hex) of the token, and its last characters. */
  readonly tokenHash?: string
  readonly last4?: string
  /** Ids of the access keys that may know the token or the address, by which it was made or changed; see `keysBehind`. */
  readonly makers?: readonly string[]
}

/** A new token of an inbound endpoint: 256 random bits, of which only the hash is stored. */
export interface EndpointToken {
  readonly secret: string
  readonly stored: { readonly tokenHash: string; readonly last4: string }
}

/** Dependencies of preparing an endpoint. */
export interface PrepareDeps {
  readonly sealer: Sealer
  /** Networks (CIDR) that all users may connect to. */
  readonly outboundAllow: readonly string[]
  /** Ids of the access keys behind the one who saves it. */
  readonly makers?: readonly string[]
}

/** Makes a token. */
export function newToken(): EndpointToken {
  const secret = `pba_${randomBytes(32).toString('base64url')}`
  return tokenFrom(secret)
}

/** Returns a token that a user chose. */
export function tokenFrom(secret: string): EndpointToken {
  return { secret, stored: { tokenHash: hashToken(secret), last4: secret.slice(-4) } }
}

/** Returns the stored form of a token. The look-up is by hash, so that its duration reveals nothing about existing tokens. */
export function hashToken(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex')
}

/** The stored part of an endpoint. */
export function endpointOf({ body }: Pick<OwnedSetting, 'body'>): StoredEndpoint {
  return body as unknown as StoredEndpoint
}

/** Address to which an outbound endpoint connects, with its token. Throws `config_invalid` when it cannot be decrypted. */
export function urlOf(setting: OwnedSetting, sealer: Sealer): string | undefined {
  if (setting.secrets === null) return undefined
  const context = { owner: setting.owner.id, record: setting.id, field: ENDPOINT_SECRETS.field }
  return sealer.open(ENDPOINT_SECRETS.purpose, context, setting.secrets)
}

/**
 * Prepares an endpoint's body for the store. `target`: the target named by its `group`; undefined: its owner may not use it.
 * `token`: the token of a new inbound endpoint; `none` removes an existing one. Throws `validation_failed` with all wrong
 * fields, and `url_address_blocked` for an address that its owner may not reach.
 */
export function prepareEndpoint(
  body: JsonObject,
  target: EndpointTarget | undefined,
  { sealer, outboundAllow, makers }: PrepareDeps,
  token?: EndpointToken | 'none',
): Prepare {
  return (owner, place, before) => {
    const known = before && endpointOf(before)
    const fields = new Fields(body)
    fields.refuseUnknown([...FIELDS, ...ANSWER_FIELDS])
    const name = readName(fields)
    const direction = readDirection(fields, known)
    const knownUrl = before && openUrl(before, sealer)
    const url = readUrl(fields, direction, knownUrl)
    if (fields.required('group') && !target)
      fields.problem('group', 'member_not_found', 'No group, server or view of one that the endpoint’s owner may use')
    const enabled = fields.boolean('enabled') ?? true
    const limits = readLimits(fields)
    if (fields.errors.length > 0 || name === undefined || !direction || !target)
      throw validationError(fields.errors, 'The endpoint cannot be saved')
    // A change that only switches the endpoint off is allowed, even if an address has been closed since it was saved.
    const judged = enabled || knownUrl !== url ? url : undefined
    refuseClosedUrl(judged, { networks: outboundAllow, admin: owner.role === 'admin' })
    const kept = keptToken(known, token)
    const stored: StoredEndpoint = { name, direction, target, enabled, limits, ...kept, ...joinedMakers(known, makers) }
    const { purpose, field } = ENDPOINT_SECRETS
    const secrets = url === undefined ? null : sealer.seal(purpose, { ...place, field }, url)
    return { name, body: stored as unknown as JsonObject, secrets }
  }
}

function refuseClosedUrl(url: string | undefined, rights: AddressRights): void {
  if (url !== undefined) refuseClosedHost('The endpoint’s address', new URL(url).hostname, rights, 'endpoints')
}

/** Returns undefined if it cannot be decrypted: another one has to be entered. */
function openUrl(setting: OwnedSetting, sealer: Sealer): string | undefined {
  try {
    return urlOf(setting, sealer)
  } catch {
    return undefined
  }
}

function keptToken(known: StoredEndpoint | undefined, token: EndpointToken | 'none' | undefined) {
  return token === 'none' ? {} : { ...tokenOf(known), ...token?.stored }
}

function tokenOf({ tokenHash, last4 }: Partial<StoredEndpoint> = {}) {
  return tokenHash === undefined || last4 === undefined ? {} : { tokenHash, last4 }
}

function readDirection(fields: Fields, known: StoredEndpoint | undefined): StoredEndpoint['direction'] | undefined {
  const direction = fields.required('direction') ? fields.oneOf('direction', DIRECTIONS) : undefined
  if (known && direction && direction !== known.direction)
    return fields.problem('direction', 'enum', 'The direction of an endpoint stays; make another endpoint')
  return direction
}

/** The same endpoint with another token, which nobody knows but the one who asked for it, with these access keys behind. */
export function withToken(token: EndpointToken, makers: readonly string[] = []): Prepare {
  return (_owner, _place, before) => {
    if (!before) throw new Error('There is no endpoint')
    const { name, secrets } = before
    const { makers: _, ...body } = before.body
    return { name, body: { ...body, ...token.stored, ...joinedMakers(undefined, makers) }, secrets }
  }
}

function joinedMakers(known: Pick<StoredEndpoint, 'makers'> | undefined, saving: readonly string[] = []) {
  const makers = [...new Set([...(known?.makers ?? []), ...saving])]
  return makers.length === 0 ? {} : { makers }
}

/** The address in its displayed form; only a mask if it cannot be decrypted, so that the other endpoints are still shown. */
export function shownUrl(setting: OwnedSetting, sealer: Sealer): string | undefined {
  if (setting.secrets === null) return undefined
  const url = openUrl(setting, sealer)
  return url === undefined ? maskSecret('') : maskUrl(url)
}

/** Returns the address without the parts that could be a credential. */
function maskUrl(text: string): string {
  const url = URL.parse(text)
  if (!url) return maskSecret(text)
  const path = url.pathname
    .split('/')
    .map(segment => (segment.length < LONG_SEGMENT ? segment : maskSecret(segment)))
    .join('/')
  const query = [...url.searchParams].map(([name, value]) => `${encodeURIComponent(name)}=${maskSecret(value)}`)
  return `${url.protocol}//${url.host}${path}${query.length === 0 ? '' : `?${query.join('&')}`}`
}

/** The address as given, or the stored one for its mask. */
function readUrl(
  fields: Fields,
  direction: StoredEndpoint['direction'] | undefined,
  stored: string | undefined,
): string | undefined {
  if (direction === 'inbound' && fields.has('url'))
    return fields.problem('url', 'unknown_field', 'An endpoint to which the assistant dials has no address of its own')
  if (direction !== 'outbound' || !fields.required('url')) return undefined
  const text = fields.string('url', MOST_URL_BYTES)
  if (text === undefined) return undefined
  // The mask must be unchanged: otherwise a changed host would receive the stored token.
  if (stored !== undefined && text === maskUrl(stored)) return stored
  if (text.includes(maskSecret('')))
    return fields.problem('url', 'secret_mask', 'This is a mask; enter the whole address')
  return isSocketAddress(fields, text) ? text : undefined
}

function isSocketAddress(fields: Fields, text: string): boolean {
  const url = URL.parse(text)
  const isSocket = url?.protocol === 'ws:' || url?.protocol === 'wss:'
  if (!isSocket || url.hash !== '')
    fields.problem('url', 'url_invalid', 'An address of the kind wss://host/path?token=… is wanted')
  else if (url.username !== '' || url.password !== '')
    fields.problem('url', 'url_credentials', 'The address holds a user name or a password')
  else return true
  return false
}

function readLimits(fields: Fields): StoredEndpoint['limits'] {
  const given = fields.nested('limits')
  given?.refuseUnknown(['tools', 'resultCharacters'])
  return {
    tools: given?.integer('tools', 1, 64) ?? 64,
    resultCharacters: given?.integer('resultCharacters', 100, 2_000) ?? 2_000,
  }
}
