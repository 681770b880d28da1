import { api, type Page, segment } from './client.ts'
import { hasRole } from './sharing.ts'
import { refOf, type ServerRecord, type ServerState, type ToolRecord } from './types.ts'

/** One finished health check. */
export interface HealthCheck {
  readonly at: string
  readonly ok: boolean
  readonly durationMs: number
}

/** Health of a server, from `/api/monitoring/health`. */
export interface ServerHealthRecord {
  /** `owner~name`. */
  readonly server: string
  readonly serverId: string
  readonly state: ServerState
  readonly uptimeRatio24h: number | null
  readonly consecutiveFailures: number
  readonly lastCheck: (HealthCheck & { readonly error?: { readonly code: string; readonly message: string } }) | null
  readonly responseTime: { readonly avg: number | null; readonly min: number | null; readonly max: number | null }
  readonly checks: readonly HealthCheck[]
}

/** A listing of tools, prompts or resources. */
export interface Listing<T> extends Page<T> {
  /** False: the last known list of a server that is not online. */
  readonly live: boolean
  readonly readAt: string | null
  readonly warnings: readonly string[]
}

/** Largest page of a list. */
const PAGE = 1000
/** Pages of one list that are read. */
const MOST_PAGES = 100

/** All items of a list, page after page. */
export async function readAll<T>(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  signal?: AbortSignal,
): Promise<readonly T[]> {
  const items: T[] = []
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const found = await api.get<Page<T>>(path, {
      query: { ...query, limit: String(PAGE), offset: String(items.length) },
      signal,
    })
    items.push(...found.items)
    if (items.length >= found.total || found.items.length === 0) break
  }
  return items
}

/** Actions on a server. */
export type ServerVerb = 'start' | 'stop' | 'restart' | 'refresh'

/** Path of a server in the API. */
export const serverPath = (ref: string): string => `/api/servers/${segment(ref)}`

/** Starts, stops or restarts a server, or reads its lists again; returns the server afterwards. */
export function controlServer(ref: string, verb: ServerVerb): Promise<ServerRecord> {
  return api.post<ServerRecord>(`${serverPath(ref)}/${verb}`)
}

/** True when this user may start, stop and change a server. */
export function isEditable(server: ServerRecord): boolean {
  return hasRole(server, 'change')
}

/** Tools of a server in its own order. */
export async function readTools(ref: string, signal?: AbortSignal): Promise<Listing<ToolRecord>> {
  return readListing<ToolRecord>(ref, 'tools', signal)
}

/** Tools, prompts or resources of a server, all pages of them. */
export async function readListing<T>(
  ref: string,
  kind: 'tools' | 'prompts' | 'resources',
  signal?: AbortSignal,
): Promise<Listing<T>> {
  const items: T[] = []
  for (;;) {
    const query = { limit: String(PAGE), offset: String(items.length) }
    const page = await api.get<Listing<T>>(`${serverPath(ref)}/${kind}`, { query, signal })
    items.push(...page.items)
    // A page of large definitions ends early; an empty one is the end.
    if (items.length >= page.total || page.items.length === 0) return { ...page, items }
  }
}

export { refOf }

/** A change of a server's state. */
export interface StateChange {
  readonly at: string
  readonly state: ServerState
  readonly reason?: { readonly code: string; readonly message: string }
}

/** Health of one server with its changes of the last day; only for users who may edit it. */
export async function readHealth(
  ref: string,
  signal: AbortSignal,
): Promise<(ServerHealthRecord & { readonly changes: readonly StateChange[] }) | undefined> {
  type Item = ServerHealthRecord & { readonly changes: readonly StateChange[] }
  const { items } = await api.get<Page<Item>>('/api/monitoring/health', { query: { server: ref }, signal })
  return items[0]
}

/** Path of the page at which the user signs in at a server. */
export const connectPath = (serverId: string): string => `/connect/${segment(serverId)}`
