import { HubError } from '../contract/errors.ts'
import type { UserActor } from '../contract/records.ts'
import { formatRef } from '../domain/names.ts'
import { HOSTED_KEY_PREFIX } from '../domain/server/header-consents.ts'
import type { TogetherParts } from '../registry/create.ts'
import type { MadeItem } from './import-items.ts'

/** What was taken back of an import, and what was not. */
export interface Rollback {
  readonly removed: readonly Pick<MadeItem, 'kind' | 'name'>[]
  readonly kept: readonly (Pick<MadeItem, 'kind' | 'name'> & { readonly why: string })[]
}

/** Removes what an import has made, the last first, since what refers to another goes before it. */
export async function takeBack(parts: TogetherParts, actor: UserActor, made: readonly MadeItem[]): Promise<Rollback> {
  const removed: Rollback['removed'][number][] = []
  const kept: Rollback['kept'][number][] = []
  for (const item of made.toReversed()) {
    const { kind, name } = item
    const why = await takeOneBack(parts, actor, item)
    if (why === undefined) removed.push({ kind, name })
    else kept.push({ kind, name, why })
  }
  return { removed, kept }
}

/** Undefined when it was taken back or is gone; else why it was kept. */
async function takeOneBack(parts: TogetherParts, actor: UserActor, item: MadeItem): Promise<string | undefined> {
  try {
    const isKept = await parts.attempt(async () => (await REMOVALS[item.kind](parts, actor, item)) === 'changed')
    return isKept ? 'it was changed since' : undefined
  } catch (error) {
    if (!(error instanceof HubError) || error.status >= 500) throw error
    return error.status === 404 ? undefined : error.message
  }
}

/** Does nothing to what is gone, or was changed since it was made. */
type Removal = (parts: TogetherParts, actor: UserActor, item: MadeItem) => Promise<'changed' | undefined>

const REMOVALS: Readonly<Record<MadeItem['kind'], Removal>> = {
  async group({ registry }, actor, { id, revision }) {
    const group = await registry.groups.byId(actor, id)
    if (group?.revision !== revision) return group && 'changed'
    await registry.groups.remove(actor, formatRef(group.ownerName, group.name))
    return undefined
  },
  async server({ registry }, actor, { id, revision }) {
    const server = await registry.servers.byId(actor, id)
    if (server?.revision !== revision) return server && 'changed'
    await registry.servers.remove(actor, formatRef(server.ownerName, server.name))
    return undefined
  },
  async user({ registry }, actor, { id, revision }) {
    const user = await registry.users.byId(id)
    if (user?.revision !== revision) return user && 'changed'
    if (actor.credential.kind === 'key') {
      throw new HubError('insufficient_scope', 'An access key does not remove users: sign in to do this')
    }
    await registry.users.remove(actor, user.name, {})
    return undefined
  },
  async key({ registry }, actor, { id, revision }) {
    // One that was rotated has another secret by now.
    if ((await registry.keys.byHash(String(revision)))?.id !== id) return 'changed'
    await registry.keys.remove(actor, id)
    return undefined
  },
  async secret({ registry }, actor, { id, owner, revision }) {
    const key = `${HOSTED_KEY_PREFIX}${id}`
    const info = (await registry.settings.userSecretInfo(owner, key))[key]
    if (info?.setAt !== revision) return info && 'changed'
    await registry.settings.setUserSecret(actor, owner, key, null)
    return undefined
  },
  async setting({ registry }, actor, { id, owner, revision }) {
    const present = (await registry.settings.user(owner))[id]
    if (present !== revision) return present === undefined ? undefined : 'changed'
    await registry.settings.setUser(actor, owner, { [id]: null })
    return undefined
  },
}
