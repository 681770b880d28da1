import type { SystemActor } from '../../../contract/records.ts'
import { nameKey } from '../../../domain/names.ts'
import type { EventBus } from '../../../events/bus.ts'
import type { EventName } from '../../../events/catalog.ts'
import type { GroupRegistry } from '../../../registry/api.ts'
import type { ListedGroup } from './server-card.ts'

/** Dependencies of the list of public groups. */
export interface PublicGroupsDeps {
  readonly registry: { readonly groups: Pick<GroupRegistry, 'list'> }
  readonly bus: Pick<EventBus, 'on'>
}

/** All public groups at one time, by name. */
export interface GroupList {
  readonly groups: readonly ListedGroup[]
  /** Letter case is ignored, as in the path of the endpoint. */
  find(ownerName: string, name: string): ListedGroup | undefined
}

/** Time for which the list is cached, in milliseconds, for changes without an event in `CHANGES`. */
const KEPT_MS = 1_000

/** Events that change which groups are public or how they are described. */
const CHANGES: readonly EventName[] = [
  ...(['group.created', 'group.updated', 'group.removed'] as const),
  ...(['user.created', 'user.updated', 'user.removed', 'config.changed'] as const),
]

/** Requests are anonymous, so the hub itself reads the list. */
const READER: SystemActor = { kind: 'system', purpose: 'discovery' }

/**
 * The public groups. The list is read at most once a second and after a change, however many requests there are, and a
 * lookup takes the same time for a private group as for one that does not exist.
 */
export class PublicGroups {
  readonly #deps: PublicGroupsDeps
  #kept: { readonly madeAtMs: number; readonly list: Promise<GroupList> } | undefined

  constructor(deps: PublicGroupsDeps) {
    this.#deps = deps
    for (const name of CHANGES)
      deps.bus.on(name, () => {
        this.#kept = undefined
      })
  }

  /** The list now. A failure to read it is not cached. */
  read(): Promise<GroupList> {
    const nowMs = performance.now()
    if (this.#kept && nowMs - this.#kept.madeAtMs < KEPT_MS) return this.#kept.list
    const made = { madeAtMs: nowMs, list: this.#read() }
    this.#kept = made
    made.list.catch(() => {
      if (this.#kept === made) this.#kept = undefined
    })
    return made.list
  }

  async #read(): Promise<GroupList> {
    const heads = await this.#deps.registry.groups.list(READER, { scope: 'public' })
    const groups = heads.map(({ name, ownerName, description }) => ({
      ...{ name, ownerName },
      ...(description === undefined ? {} : { description }),
    }))
    const byName = new Map(groups.map(group => [key(group.ownerName, group.name), group]))
    return { groups, find: (ownerName, name) => byName.get(key(ownerName, name)) }
  }
}

function key(ownerName: string, name: string): string {
  return `${nameKey(ownerName)}/${nameKey(name)}`
}
