import type { ServerState } from './types.ts'

/** `GET /api/monitoring/connections`: connections of clients, groups and servers. */
export interface Connections {
  readonly range: string
  readonly summed: boolean
  readonly omitted: number
  readonly clients: readonly ConnectedClient[]
  readonly groups: readonly ConnectedGroup[]
  readonly servers: readonly ConnectedServer[]
  readonly links: readonly ConnectionLink[]
}

/** A program that calls tools. */
export interface ConnectedClient {
  readonly id: string
  readonly kind: 'client' | 'api'
  /** Name that the client stated; empty: unknown, or not visible to you. */
  readonly name: string
  readonly user?: string
  readonly key?: { readonly id: string; readonly label?: string }
  readonly sessions: number
}

/** A group, or a server or all servers under an address of their own. */
export interface ConnectedGroup {
  readonly id: string
  readonly kind: 'group' | 'server' | 'all'
  readonly name: string
  readonly owner?: string
  readonly servers?: readonly string[]
}

/** A server as the end of a link. */
export interface ConnectedServer {
  readonly id: string
  readonly ref: string
  readonly name: string
  readonly owner: string
  readonly state: ServerState
  /** Reason why it is not online, for users who may edit it. */
  readonly reason?: { readonly code: string; readonly message: string }
}

/** Calls of one client through one group to one server. */
export interface ConnectionLink {
  readonly client: string
  readonly group: string
  readonly server?: string
  readonly calls: number
  readonly failures: number
  readonly callsPerMinute: number
}
