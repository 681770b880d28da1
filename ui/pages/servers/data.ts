import { api } from '../../api/client.ts'
import { readAll, refOf, type ServerHealthRecord, serverPath } from '../../api/servers.ts'
import type { GroupRecord, ServerRecord, ServerState } from '../../api/types.ts'
import type { LiveEvent } from '../../app/live.ts'

/** Changed servers that are read one by one; of more the whole list is read. */
const MOST_SINGLE = 20
/** Changes within this time are read together, in milliseconds. */
const PAUSE_MS = 1000

/** Reads all servers of a scope. */
export function readServers(scope: string, signal: AbortSignal): Promise<readonly ServerRecord[]> {
  return readAll<ServerRecord>('/api/servers', { scope }, signal)
}

/** Groups that may be seen, for the filter and for adding servers to them. */
export function readGroups(signal?: AbortSignal): Promise<readonly GroupRecord[]> {
  return readAll<GroupRecord>('/api/groups', { scope: 'visible' }, signal)
}

/** The last 30 checks of own servers, of an administrator all, by reference. */
export async function readChecks(scope: string, signal: AbortSignal): Promise<ReadonlyMap<string, ServerHealthRecord>> {
  const query = { checks: '30', ...(scope === 'mine' ? { scope } : {}) }
  const items = await readAll<ServerHealthRecord>('/api/monitoring/health', query, signal)
  return new Map(items.map(item => [item.server, item]))
}

interface StateData {
  readonly serverId: string
  readonly state: ServerState
  readonly reason?: { readonly code: string; readonly message: string }
  readonly attempts: number
}

/**
 * Keeps a list of servers up to date by events: a new state is shown at once, and other changes are read only for the changed
 * servers.
 */
export class ServerChanges {
  readonly #changed = new Set<string>()
  readonly #read: (ids: readonly string[]) => void
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `read` is called with the ids of servers to be read again; empty: all of them. */
  constructor(read: (ids: readonly string[]) => void) {
    this.#read = read
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#changed.clear()
  }

  apply(event: LiveEvent, servers: readonly ServerRecord[]): readonly ServerRecord[] | 'same' | 'stale' {
    if (event.event === 'share.changed') return event.data.kind === 'server' ? 'stale' : 'same'
    const { serverId } = event.data as { serverId?: string }
    if (event.event === 'server.removed') return servers.filter(({ id }) => id !== serverId)
    if (event.event === 'server.created') return 'stale'
    if (serverId === undefined || !/^(server|connection|catalog|tool)\./.test(event.event)) return 'same'
    // Public servers of other users have no id.
    if (!servers.some(({ id }) => id === serverId)) return 'stale'
    this.#note(serverId)
    if (event.event !== 'connection.state') return 'same'
    return servers.map(server => (server.id === serverId ? withState(server, event) : server))
  }

  #note(id: string): void {
    this.#changed.add(id)
    this.#timer ??= setTimeout(() => {
      const ids = [...this.#changed]
      this.stop()
      this.#read(ids.length > MOST_SINGLE ? [] : ids)
    }, PAUSE_MS)
  }
}

function withState(server: ServerRecord, { data, at }: LiveEvent): ServerRecord {
  const { state, reason, attempts } = data as unknown as StateData
  const { reason: _, nextAttemptAt: __, starting: ___, ...rest } = server.status
  return { ...server, status: { ...rest, state, since: at, attempts, ...(reason ? { reason } : {}) } }
}

/** Returns the list with these servers read again; removed ones are left out. */
export async function withFresh(
  servers: readonly ServerRecord[],
  ids: readonly string[],
): Promise<readonly ServerRecord[]> {
  const wanted = new Set(ids)
  const fresh = await Promise.all(
    servers
      .filter(({ id }) => id !== undefined && wanted.has(id))
      .map(server => api.get<ServerRecord>(serverPath(refOf(server))).catch(() => undefined)),
  )
  const byId = new Map(fresh.filter(one => one !== undefined).map(one => [one.id, one]))
  return servers.map(server => byId.get(server.id) ?? server)
}
