import { isDeepStrictEqual } from 'node:util'
import { LIMITS } from '../config/limits.ts'
import type { FileEntry } from '../config/shape/sections.ts'
import { type FieldError, HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import type { Actor } from '../contract/records.ts'
import type { AddressRights } from '../domain/address.ts'
import { readName, within } from '../domain/alerts/rule-body.ts'
import { ANSWERED_FIELDS, Fields } from '../domain/json/fields.ts'
import { pointerToken } from '../domain/json/json-pointer.ts'
import { NAME_CHARACTERS } from '../domain/names.ts'
import { addressesIn, refuseMovedSecrets } from '../domain/server/moved-secrets.ts'
import { refuseClosedHost } from '../domain/server/permitted-host.ts'
import { visitValues, withSchemaWords } from '../domain/server/transport-schema.ts'
import { validationError } from '../domain/validation-error.ts'
import type { NotificationChannel } from '../features/alerts.ts'
import type { KeepSecret } from '../registry/owned/moving.ts'
import {
  keptMasks,
  masksOf,
  type Secrets,
  secretsIn,
  unmasked,
  withoutSecrets,
  withSecrets,
} from '../registry/owned/secret-fields.ts'
import type { OwnedSetting, Prepare } from '../registry/owned/settings.ts'
import type { Owner } from '../registry/owners.ts'
import type { RecordKind } from '../registry/record-kinds.ts'
import type { Sealer } from '../secrets/seal.ts'
import { parseUrl } from '../transport-kit/parse-url.ts'

/** Purpose of the encrypted secrets of notification channels. */
const CHANNEL_SECRETS = { purpose: 'alert-channel', field: 'config' } as const

/** The kind of notification channels. */
export const CHANNELS: RecordKind = {
  ...{ kind: 'channel', label: 'channel', missing: 'channel_not_found', quota: 'quota_channels' },
  most: LIMITS.alertChannelsPerUser,
  fileSection: 'notifications',
  file: { keys: ['notifications'], read: channelsIn },
  fromHub: { what: 'notification channels', instead: 'POST /api/monitoring/channels makes them.' },
  acts: true,
  sealedAs: { ...CHANNEL_SECRETS, what: 'notification channel' },
  moved: { section: 'channels', offUnlessSeen: true, offOnRequest: false },
}

/** Reads a section of the settings file in which each channel stands under its name, which is its type too where none is said. */
function channelsIn(section: JsonValue, at: string, warnings: string[]): readonly FileEntry[] {
  if (!isJsonObject(section)) {
    warnings.push(`${at} is not an object; it is not used`)
    return []
  }
  return Object.entries(section).map(([name, entry]) => {
    const { type = name, config = {}, ...fields } = isJsonObject(entry) ? entry : { entry }
    return { pointer: `${at}/${pointerToken(name)}`, body: { ...fields, name, type, config } }
  })
}

/** The JSON Schema of each field of a channel's body, which are all that it may have. */
export const CHANNEL_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  name: {
    ...{ type: 'string', minLength: 1, maxLength: NAME_CHARACTERS },
    description: 'Unique among its owner’s channels; 1 to 64 characters, no `/ ~ :` or controls.',
  },
  type: {
    ...{ type: 'string', maxLength: 256 },
    description:
      'A kind that a plugin offers, in any letter case: `email`, `chat` (or `slack`, `chatWebhook`), `webhook` (or `genericWebhook`).',
  },
  enabled: { type: 'boolean', default: true, description: 'Whether messages are sent to it.' },
  config: {
    type: 'object',
    description: 'The fields of the kind, which may stand beside `enabled` too; secrets come back masked.',
  },
}

/** Fields of the body itself; all others belong to `config`. */
const OWN_FIELDS: ReadonlySet<string> = new Set([...Object.keys(CHANNEL_SCHEMAS), ...ANSWERED_FIELDS])

/** The kinds of channel that plugins offer, by `type`. */
export type ChannelTypes = ReadonlyMap<string, NotificationChannel>

/** The part of a channel that is stored unencrypted; the secrets in `config` are empty texts. */
export interface StoredChannel {
  readonly name: string
  readonly type: string
  readonly enabled: boolean
  readonly config: JsonObject
}

/** Dependencies of `prepareChannel`. */
export interface PrepareDeps {
  readonly types: () => ChannelTypes
  readonly sealer: Sealer
  /** Networks (CIDR) that all users may connect to. */
  readonly outboundAllow: readonly string[]
}

/**
 * Moves the fields of the channel's kind, which may be beside `name` and `enabled`, into `config`; a name that has a different
 * value there is left in place. `moved`: the names of moved fields.
 */
export function nestedChannel(body: JsonObject): { readonly body: JsonObject; readonly moved: readonly string[] } {
  const { config = {} } = body
  if (!isJsonObject(config)) return { body, moved: [] }
  const beside = Object.keys(body).filter(name => !OWN_FIELDS.has(name))
  const moved = beside.filter(name => !Object.hasOwn(config, name) || isDeepStrictEqual(config[name], body[name]))
  if (moved.length === 0) return { body, moved }
  const rest = Object.entries(body).filter(([name]) => !moved.includes(name))
  const inner = Object.fromEntries(moved.map(name => [name, body[name] ?? null]))
  return { body: { ...Object.fromEntries(rest), config: { ...config, ...inner } }, moved }
}

/**
 * Prepares a channel's body for the store. A masked secret keeps the stored value for its owner only, and a changed address is
 * checked by {@link refuseMovedSecrets}. Throws `validation_failed` with all wrong fields, `admin_only` for a type that connects
 * to hosts on its own, and `url_address_blocked` for an address that its owner may not reach.
 */
export function prepareChannel(actor: Actor, body: JsonObject, deps: PrepareDeps): Prepare {
  const { sealer, outboundAllow } = deps
  const types = deps.types()
  return (owner, place, before) => {
    const isOwn = actor.kind === 'user' && actor.userId === owner.id
    const stored = isOwn ? channelSecrets(before, sealer) : {}
    const nested = nestedChannel(body)
    const fields = new Fields(nested.body)
    const { name, type, enabled, config, kind } = readChannel(fields, types, stored, nested.moved)
    refuseOthers(kind, owner, config)
    const whole = revealed(fields, config, kind, stored)
    if (before) refuseMovedChannel(actor, { type, config, whole }, before, stored)
    // A change that only switches the channel off is allowed, even if an address has been closed since it was saved.
    if (enabled || !before || !isDeepStrictEqual(openConfig(before, sealer), whole))
      refuseClosedAddresses(kind, whole, { networks: outboundAllow, admin: owner.role === 'admin' })
    const secrets = secretsIn(whole, kind.secrets)
    const open: StoredChannel = { name, type, enabled, config: withoutSecrets(whole, secrets) }
    const sealed = sealer.seal(
      CHANNEL_SECRETS.purpose,
      { ...place, field: CHANNEL_SECRETS.field },
      JSON.stringify(secrets),
    )
    const hidden = !isDeepStrictEqual(whole, config)
    return { name, body: open as unknown as JsonObject, secrets: sealed, hidden }
  }
}

/** `config` as received, `whole` with the stored secrets instead of their masks. */
function refuseMovedChannel(
  actor: Actor,
  { type, config, whole }: { readonly type: string; readonly config: JsonObject; readonly whole: JsonObject },
  before: OwnedSetting,
  stored: Secrets,
): void {
  const kept = keptMasks(config, stored, '#/config')
  const known = channelOf(before)
  const moved = type !== known.type || addressesIn(whole) !== addressesIn(withSecrets(known.config, stored))
  refuseMovedSecrets(actor, { kept, moved, isOwn: true }, Date.now())
}

/** The fields of a channel's body. Throws `validation_failed` with all wrong ones. */
function readChannel(fields: Fields, types: ChannelTypes, stored: Secrets, moved: readonly string[]) {
  for (const field of fields.names().filter(each => !OWN_FIELDS.has(each)))
    fields.problem(field, 'ambiguous', `"${field}" stands in the body and in "config" with different values`)
  const name = readName(fields)
  const type = fields.required('type') ? fields.oneOf('type', [...types.keys()]) : undefined
  const enabled = fields.boolean('enabled') ?? true
  const kind = type === undefined ? undefined : types.get(type)
  const config = readConfig(fields, kind, stored)
  if (fields.errors.length > 0 || !kind || !config || name === undefined || type === undefined) {
    const errors = fields.errors.map(error => ({ ...error, pointer: asWritten(error.pointer, moved) }))
    throw validationError(errors, 'The channel cannot be saved')
  }
  return { name, type, enabled, config, kind }
}

/** Returns undefined for a value that is not an object, and without a kind, which would define the fields. */
function readConfig(fields: Fields, kind: NotificationChannel | undefined, stored: Secrets): JsonObject | undefined {
  const written = fields.required('config') ? fields.object('config') : undefined
  if (!kind || !written) return undefined
  const config = withSchemaWords(kind.configSchema, written)
  checkConfig(fields, kind, revealed(fields, config, kind, stored))
  return config
}

/** The pointer of a field of `config` in the body as it was sent. */
function asWritten(pointer: string, moved: readonly string[]): string {
  const [, field = ''] = /^#\/config\/([^/]+)/.exec(pointer) ?? []
  return moved.some(name => pointerToken(name) === field) ? pointer.replace('#/config/', '#/') : pointer
}

/** Checks every address in the kind's schema: `format` `uri`, and `host` for a host alone. */
function refuseClosedAddresses({ configSchema }: NotificationChannel, config: JsonObject, rights: AddressRights): void {
  visitValues(
    configSchema,
    config,
    ({ format }, value) => {
      const host = typeof value !== 'string' ? undefined : format === 'uri' ? parseUrl(value)?.hostname : value
      if (host === undefined || (format !== 'uri' && format !== 'host')) return
      refuseClosedHost('The channel’s address', host, rights, 'channels')
    },
    '',
  )
}

/** A channel as the API shows it, with its secrets masked. */
export function channelView(setting: OwnedSetting, sealer: Sealer): JsonObject {
  const { secrets } = setting
  const masks = masksOf(secrets === null ? {} : channelSecrets(setting, sealer))
  return { ...setting.body, config: withSecrets(channelOf(setting).config, masks) }
}

/** A channel's body, with what `keep` gives in the place of each secret; it gets pointers into the body. */
export function movingChannel(setting: OwnedSetting, sealer: Sealer, keep: KeepSecret): JsonObject {
  const secrets = channelSecrets(setting, sealer)
  const kept = Object.entries(secrets).map(([at, text]) => [at, keep(text, `/config${at}`)])
  return { ...setting.body, config: withSecrets(channelOf(setting).config, Object.fromEntries(kept)) }
}

/** The stored part of a channel. */
export function channelOf({ body }: Pick<OwnedSetting, 'body'>): StoredChannel {
  return body as unknown as StoredChannel
}

/** Types of channels that this owner may create, with the members of `config` that the owner may not set. */
export function channelTypesFor(types: ChannelTypes, owner: Pick<Owner, 'role'>): readonly JsonObject[] {
  const isAdmin = owner.role === 'admin'
  return [...types]
    .filter(([, { adminOnly }]) => isAdmin || adminOnly !== true)
    .map(([type, { label, configSchema, adminOnly = [] }]) => ({
      ...{ type, label: inEnglish(label), configSchema },
      ...(typeof label === 'string' ? {} : { labels: { ...label } }),
      withheld: isAdmin || adminOnly === true ? [] : [...adminOnly],
    }))
}

/** The configuration with its secrets. Throws `config_invalid` when they cannot be opened. */
export function openConfig(setting: OwnedSetting, sealer: Sealer): JsonObject {
  return withSecrets(channelOf(setting).config, channelSecrets(setting, sealer))
}

/** Throws `admin_only` if only administrators may have such a channel, or one with such a member. */
export function refuseOthers(
  { adminOnly = [], label }: NotificationChannel,
  owner: Pick<Owner, 'role'>,
  config: JsonObject,
): void {
  if (owner.role === 'admin') return
  const kind = inEnglish(label)
  if (adminOnly === true) throw new HubError('admin_only', `Only administrators have channels of the kind "${kind}"`)
  const member = adminOnly.find(name => Object.hasOwn(config, name))
  if (member !== undefined)
    throw new HubError('admin_only', `Only administrators’ channels of the kind "${kind}" may have "${member}"`)
}

/** True unless the channel's owner has fewer rights than the rule's owner: such a channel must not receive the rule's data. */
export function mayNotify(rule: Pick<OwnedSetting, 'owner'>, channel: Pick<OwnedSetting, 'owner'>): boolean {
  return rule.owner.role !== 'admin' || channel.owner.role === 'admin'
}

/** The secrets of a channel by pointers into its `config`; a rule has none. */
export function channelSecrets(setting: OwnedSetting | undefined, sealer: Sealer): Secrets {
  if (!setting?.secrets) return {}
  const context = { owner: setting.owner.id, record: setting.id, field: CHANNEL_SECRETS.field }
  return JSON.parse(sealer.open(CHANNEL_SECRETS.purpose, context, setting.secrets)) as Secrets
}

/** The configuration with the stored secrets in the places of their masks. */
function revealed(fields: Fields, config: JsonObject, { secrets }: NotificationChannel, stored: Secrets): JsonObject {
  return unmasked(config, { patterns: secrets, stored, at: '#/config' }, fields.errors)
}

function checkConfig(fields: Fields, kind: NotificationChannel, config: JsonObject): void {
  if (fields.errors.length > 0) return
  const found: readonly FieldError[] = kind.check(config)
  fields.errors.push(...within('config', found))
}

function inEnglish(label: NotificationChannel['label']): string {
  return typeof label === 'string' ? label : label.en
}
