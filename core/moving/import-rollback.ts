import { HubError } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import { formatRef } from '../domain/names.ts'
import { HOSTED_KEY_PREFIX } from '../domain/server/header-consents.ts'
import type { TogetherParts } from '../registry/create.ts'
import type { SettingLimit } from '../registry/owned/limits.ts'
import type { NewShare } from '../registry/shares-api.ts'
import { pauses } from '../store/pauses.ts'
import { undoAttached } from './extras/import-attached.ts'
import { undoShares } from './extras/import-shares.ts'
import { undoTeam } from './extras/import-teams.ts'
import type { RollbackParts } from './extras/rollback-parts.ts'
import type { ImportItem, MadeItem } from './import-items.ts'
import { originalKey } from './import-scope.ts'

type Named = Pick<MadeItem, 'kind' | 'name'>

/** The result of a rollback: the items that were taken back, and those that were not. */
export interface Rollback {
  readonly removed: readonly Named[]
  /** Items that the import had replaced, and that are restored. */
  readonly restored: readonly Named[]
  readonly kept: readonly (Named & { readonly why: string })[]
  /** Items that somebody had removed before. */
  readonly gone: readonly Named[]
  /** The file in which the import switched servers off, as it was before. */
  readonly original?: { readonly format: string; readonly text: string }
}

/**
 * Removes or restores the things that an import has made. The last one comes first, so that a thing goes before those it refers
 * to.
 */
export async function takeBack(parts: RollbackParts, actor: UserActor, made: readonly MadeItem[]): Promise<Rollback> {
  const result = {
    removed: [] as Named[],
    restored: [] as Named[],
    kept: [] as Rollback['kept'][number][],
    gone: [] as Named[],
  }
  // The copy is in memory and answers at once: without pauses all would be one turn of the event loop.
  const pause = pauses()
  for (const item of made.toReversed()) {
    const { kind, name, replaced } = item
    await pause()
    const outcome = await takeOneBack(parts, actor, item)
    if (outcome === 'gone') result.gone.push({ kind, name })
    else if (outcome !== undefined) result.kept.push({ kind, name, why: outcome.why })
    else (replaced === undefined ? result.removed : result.restored).push({ kind, name })
    if (replaced !== undefined) await parts.registry.settings.setUser(actor, actor.userId, {}, { [replaced]: null })
  }
  return result
}

/** The file of an import as it was before servers were switched off in it. It is not kept any longer. */
export async function takeOriginal(
  { registry: { settings } }: TogetherParts,
  actor: UserActor,
  id: string,
): Promise<Pick<Rollback, 'original'>> {
  const kept = originalKey(id)
  const text = await settings.openUserSecret(actor.userId, kept)
  if (text === undefined) return {}
  await settings.setUser(actor, actor.userId, {}, { [kept]: null })
  return { original: JSON.parse(text) as NonNullable<Rollback['original']> }
}

/** Resolves with undefined when it was taken back; else with the reason why it was kept. */
async function takeOneBack(
  parts: RollbackParts,
  actor: UserActor,
  item: MadeItem,
): Promise<'gone' | { readonly why: string } | undefined> {
  try {
    const before = await beforeOf(parts, actor, item)
    const undo = Object.hasOwn(UNDO, item.kind) ? UNDO[item.kind as keyof typeof UNDO] : undoOthers(parts, item)
    const outcome = await parts.attempt(() => undo(parts, actor, item, before))
    return outcome === 'changed' ? { why: 'it was changed since' } : outcome
  } catch (error) {
    if (!(error instanceof HubError) || error.status >= 500) throw error
    return error.status === 404 && item.replaced === undefined ? 'gone' : { why: error.message }
  }
}

/** Returns the state that an item replaced. Throws `import_not_found` when it is not kept any more. */
async function beforeOf(
  { registry }: RollbackParts,
  { userId }: UserActor,
  { replaced }: MadeItem,
): Promise<Before | undefined> {
  if (replaced === undefined) return undefined
  const text = await registry.settings.openUserSecret(userId, replaced)
  if (text === undefined) throw new HubError('import_not_found', 'what it replaced is not kept any more')
  return JSON.parse(text) as Before
}

/** The replaced state: `body` of a record, with its secrets, or a value. */
interface Before {
  readonly body?: JsonObject
  readonly template?: JsonObject
  readonly value?: JsonValue
  /** Limits of a rule, channel or endpoint; earlier imports did not record them, and their items get no rights. */
  readonly limit?: SettingLimit
}

/** Must not touch a thing that is gone, or was changed since it was made. */
type Undo = (
  parts: RollbackParts,
  actor: UserActor,
  item: MadeItem,
  before: Before | undefined,
) => Promise<'changed' | 'gone' | undefined>

const UNDO: Readonly<Record<Exclude<ImportItem['kind'], 'record' | 'attached'>, Undo>> = {
  shares: (parts, actor, item, before) =>
    undoShares(parts, actor, item, before && ((before.value ?? []) as unknown as readonly NewShare[])),
  team: (parts, actor, item) => undoTeam(parts, actor, item),
  async group({ registry }, actor, { id, revision }, before) {
    const group = await registry.groups.byId(actor, id)
    if (group?.revision !== revision) return changedOr(group, before)
    const ref = formatRef(group.ownerName, group.name)
    if (before) await registry.groups.replace(actor, ref, before.body ?? {})
    else await registry.groups.remove(actor, ref)
    return undefined
  },
  async server({ registry }, actor, { id, revision }, before) {
    const server = await registry.servers.byId(actor, id)
    if (server?.revision !== revision) return changedOr(server, before)
    const ref = formatRef(server.ownerName, server.name)
    const { body = {}, template } = before ?? {}
    if (before) await registry.servers.replace(actor, ref, body, template ? { template } : {})
    else await registry.servers.remove(actor, ref)
    return undefined
  },
  async user({ registry }, actor, { id, revision }) {
    const user = await registry.users.byId(id)
    if (user?.revision !== revision) return user ? 'changed' : 'gone'
    if (actor.credential.kind === 'key') {
      throw new HubError('insufficient_scope', 'An access key does not remove users: sign in to do this')
    }
    await registry.users.remove(actor, user.name, {})
    return undefined
  },
  async key({ registry }, actor, item) {
    const { id, revision } = item
    // A rotated key has another secret by now.
    const owned = await registry.keys.byHash(String(revision))
    if (owned?.id !== id) return (await isKeyThere(registry, actor, item)) ? 'changed' : 'gone'
    await registry.keys.remove(actor, id)
    return undefined
  },
  async secret({ registry }, actor, { id, owner, revision }, before) {
    const { settings } = registry
    const key = `${HOSTED_KEY_PREFIX}${id}`
    const setAt = (await settings.userSecretTimes(owner, key))[key]
    if (setAt !== revision) return setAt === undefined ? 'gone' : 'changed'
    const value = typeof before?.value === 'string' ? before.value : null
    await settings.setUser(actor, owner, {}, { [key]: value })
    return undefined
  },
  async setting({ registry }, actor, { id, owner, revision }, before) {
    const present = (await registry.settings.user(owner))[id]
    if (present !== revision) return present === undefined ? 'gone' : 'changed'
    await registry.settings.setUser(actor, owner, { [id]: before?.value ?? null })
    return undefined
  },
}

/** A thing that is gone and replaced nothing needs no rollback. */
function changedOr(present: unknown, before: Before | undefined): 'changed' | 'gone' {
  return present === undefined && before === undefined ? 'gone' : 'changed'
}

async function isKeyThere(
  { keys, users }: RollbackParts['registry'],
  actor: UserActor,
  item: MadeItem,
): Promise<boolean> {
  const owner = (await users.byId(item.owner))?.name
  return owner !== undefined && (await keys.list(actor, owner)).some(({ id }) => id === item.id)
}

/** Settings of plugins have names of their own, as records have kinds. */
function undoOthers({ attached }: RollbackParts, { kind }: MadeItem): Undo {
  if (!attached.names().includes(kind)) return undoOwned
  return (parts, actor, item, before) => undoAttached(parts, actor, item, before?.value)
}

const undoOwned: Undo = async ({ records, registry }, actor, { kind, id, owner, revision }, before) => {
  const ofKind = records.find(one => one.kind.kind === kind)
  if (!ofKind) throw new HubError('import_not_found', `no plugin that runs now has records of the kind "${kind}"`)
  const { settings, prepare, remove } = ofKind
  const ownerName = owner === actor.userId ? undefined : (await registry.users.byId(owner))?.name
  if (owner !== actor.userId && ownerName === undefined) return 'gone'
  const present = (await settings.list(actor, ownerName)).find(one => one.id === id)
  if (present?.revision !== revision) return changedOr(present, before)
  const ref = formatRef(present.owner.name, present.name)
  if (!before) await remove(actor, ref)
  else {
    const prepared = await prepare(actor, present.owner, before.body ?? {}, present)
    await settings.replace(actor, ref, prepared, { limit: before.limit ?? 'limited' })
  }
  return undefined
}
