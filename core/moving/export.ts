import manifest from '../../package.json' with { type: 'json' }
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import type { ServerRecord, UserActor } from '../contract/records.ts'
import { pointerToken } from '../domain/json/json-pointer.ts'
import type { LongText } from '../domain/json/long-text.ts'
import { nextTurn } from '../domain/next-turn.ts'
import { HOSTED_KEY_PREFIX } from '../domain/server/header-consents.ts'
import type { MovingKinds } from '../registry/owned/moving.ts'
import {
  EXPORT_SECRETS,
  EXPORT_SETTINGS,
  EXPORT_VERSION,
  type ExportRegistry,
  type Keep,
  secretAt,
} from './export-form.ts'
import { exportedExtras } from './extras/export-extras.ts'
import { exportHash, jsonParts } from './json-pieces.ts'
import { OneAtATime } from './one-at-a-time.ts'
import { sealWithPassphrase } from './passphrase.ts'

/** The kinds that are exported beside those of the registry. */
export type ExportRecords = ReturnType<MovingKinds>

/** Exports, one at a time. */
export interface ExportService {
  /** The export as JSON. Throws `overloaded`. */
  make(actor: UserActor, passphrase: string | undefined): Promise<LongText>
}

/** Makes exports of this registry. */
export function createExports(registry: ExportRegistry, records: () => ExportRecords): ExportService {
  // Sealing takes 128 MiB for a moment, and the documents of one user up to 64.
  const turns = new OneAtATime('Too many exports are made at this moment')
  return {
    make: (actor, passphrase) =>
      turns.run(async () => jsonParts(await exportOf(registry, records(), actor, passphrase))),
  }
}

/**
 * All that a user owns and that makes sense in another hub: servers, groups, settings, records of all kinds, and keys of hosted
 * platforms. In the place of each secret stands a mark; with a passphrase the secrets are in the file, sealed with it.
 */
async function exportOf(
  registry: ExportRegistry,
  records: ExportRecords,
  actor: UserActor,
  passphrase: string | undefined,
): Promise<JsonObject> {
  const secrets: Record<string, string> = {}
  const keep = (value: string, pointer: string): string => {
    secrets[pointer] = value
    return secretAt(pointer)
  }
  const servers = await exportedServers(registry, actor, keep)
  const content: JsonObject = {
    ...{ format: 'patchbay-export', version: EXPORT_VERSION, hub: manifest.version },
    ...{ owner: actor.name, createdAt: new Date().toISOString() },
    servers,
    groups: await exportedGroups(registry, actor),
    settings: await exportedSettings(registry, actor),
    ...(await exportedOwned(records, actor, keep)),
    hostedKeys: await exportedKeys(registry, actor, keep),
    ...(await exportedExtras(registry, actor, keep)),
    ...(passphrase === undefined || Object.keys(secrets).length === 0
      ? {}
      : { secrets: { ...(await sealWithPassphrase(JSON.stringify(secrets), passphrase, EXPORT_SECRETS)) } }),
  }
  return { ...content, sha256: await exportHash(content) }
}

function byName<T extends { readonly name: string }>(items: readonly T[]): T[] {
  return items.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

async function exportedServers({ servers }: ExportRegistry, actor: UserActor, keep: Keep): Promise<JsonObject> {
  const found: [string, JsonValue][] = []
  // An unreadable record is left out: the other hub could not read it either.
  const usable = (await servers.list(actor, { scope: 'mine' })).filter(({ problem }) => !problem)
  for (const record of byName<ServerRecord>(usable)) {
    const at = `/servers/${pointerToken(record.name)}`
    const { name, ...body } = await servers.openBody(actor, record, (value, pointer) => keep(value, `${at}${pointer}`))
    // Its content came from where the template did, not from the user: it holds no secret.
    const { template } = record
    found.push([record.name, { ...body, ...(template ? { template } : {}) }])
    await nextTurn()
  }
  return Object.fromEntries(found)
}

async function exportedGroups({ groups }: ExportRegistry, actor: UserActor): Promise<JsonObject> {
  const own = `${actor.name}~`
  const plain = (ref: string): string => (ref.startsWith(own) ? ref.slice(own.length) : ref)
  const found: [string, JsonValue][] = []
  for (const { id } of byName(await groups.list(actor, { scope: 'mine' }))) {
    const record = await groups.byId(actor, id)
    if (!record) continue
    const { name, owner, ...body } = groups.publicBody(record)
    const members = Array.isArray(body.members) ? body.members : []
    // The importing user may have another name.
    const shown = members.map(member => {
      if (!isJsonObject(member) || typeof member.server !== 'string') return member
      return { ...member, server: plain(member.server) }
    })
    const { selector } = body
    const selected = isJsonObject(selector) && isJsonObject(selector.members) ? Object.entries(selector.members) : []
    const values = selected.map(([value, ref]) => [value, typeof ref === 'string' ? plain(ref) : ref])
    const chosen = isJsonObject(selector) ? { selector: { ...selector, members: Object.fromEntries(values) } } : {}
    found.push([record.name, { ...body, ...chosen, members: shown }])
    await nextTurn()
  }
  return Object.fromEntries(found)
}

async function exportedSettings({ settings }: ExportRegistry, { userId }: UserActor): Promise<JsonObject> {
  const stored = await settings.user(userId)
  return Object.fromEntries(EXPORT_SETTINGS.flatMap(name => (stored[name] === undefined ? [] : [[name, stored[name]]])))
}

async function exportedOwned(records: ExportRecords, actor: UserActor, keep: Keep): Promise<JsonObject> {
  const sections: [string, JsonObject][] = []
  for (const { kind, settings, open } of records) {
    const { section } = kind.moved
    const found: [string, JsonValue][] = []
    for (const setting of byName(await settings.list(actor))) {
      const at = `/${section}/${pointerToken(setting.name)}`
      const { name, ...body } = await open(setting, (secret, pointer) => keep(secret, `${at}${pointer}`))
      found.push([setting.name, body])
      await nextTurn()
    }
    sections.push([section, Object.fromEntries(found)])
  }
  return Object.fromEntries(sections)
}

async function exportedKeys({ settings }: ExportRegistry, { userId }: UserActor, keep: Keep): Promise<JsonObject> {
  const names = Object.keys(await settings.userSecretTimes(userId, HOSTED_KEY_PREFIX)).sort()
  const found: [string, string][] = []
  for (const key of names) {
    const name = key.slice(HOSTED_KEY_PREFIX.length)
    const value = await settings.openUserSecret(userId, key)
    if (value !== undefined) found.push([name, keep(value, `/hostedKeys/${pointerToken(name)}`)])
  }
  return Object.fromEntries(found)
}
