import type { UserActor } from 'patchbay/contract'
import type { PluginRecords } from 'patchbay/features'
import { isAdmin } from 'patchbay/log-kit'
import { hasAnyTag } from 'patchbay/plugin-kit'
import { z } from 'zod'

interface Tagged {
  readonly id: string
  readonly tags?: readonly string[]
}

/** The servers and groups of the hub. */
export interface TaggedThings {
  readonly servers: Pick<PluginRecords<Tagged>, 'list'>
  readonly groups: Pick<PluginRecords<Tagged>, 'list'>
}

/** The tags of the servers and groups that one reader sees, read when they are first needed. */
export class Tags {
  readonly #actor: UserActor
  readonly #things: TaggedThings
  #read: Promise<readonly [servers: readonly Tagged[], groups: readonly Tagged[]]> | undefined

  constructor(actor: UserActor, { servers, groups }: TaggedThings) {
    this.#actor = actor
    this.#things = { servers, groups }
  }

  /** Ids of the servers and groups with one of the tags; letter case is ignored. Those that the reader does not see are missing. */
  async ids(tags: readonly string[]): Promise<Readonly<Record<'serverIds' | 'groupIds', readonly string[]>>> {
    const scope = isAdmin(this.#actor) ? 'all' : 'visible'
    const { servers, groups } = this.#things
    this.#read ??= Promise.all([servers.list(this.#actor, scope), groups.list(this.#actor, scope)])
    const [ofServers, ofGroups] = (await this.#read).map(things =>
      things.filter(thing => hasAnyTag(thing.tags ?? [], tags)).map(({ id }) => id),
    )
    return { serverIds: ofServers ?? [], groupIds: ofGroups ?? [] }
  }
}

/** `?tag=` of routes that count: numbers are kept by server, and not by group. */
export const serverTag = z
  .string()
  .min(1)
  .max(256)
  .optional()
  .meta({ description: 'Only of servers with this tag, letter case ignored' })

/** The servers of `?tag=` for a question about numbers; nothing without it. */
export async function ofTagged(
  tag: string | undefined,
  actor: UserActor,
  things: TaggedThings,
): Promise<{ readonly serverIds?: readonly string[] }> {
  if (tag === undefined) return {}
  const { serverIds } = await new Tags(actor, things).ids([tag])
  return { serverIds }
}
