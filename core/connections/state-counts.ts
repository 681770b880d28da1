import type { ManagedServer } from './server/managed-server.ts'

/** Numbers of servers by state, and of their tools. */
export function countsOf(servers: Iterable<Pick<ManagedServer, 'state' | 'catalog'>>) {
  const counts = { total: 0, online: 0, connecting: 0, offline: 0, tools: 0 }
  for (const { state, catalog } of servers) {
    counts.total += 1
    counts[state] += 1
    counts.tools += catalog?.tools.length ?? 0
  }
  return counts
}
