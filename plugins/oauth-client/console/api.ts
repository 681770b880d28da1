import { api, segment, serverPath } from 'patchbay/console'

/** `self`: each user signs in. `all`: the owner has signed in for everybody. */
export type ConnectionFor = 'self' | 'all'

/** A sign-in of the user at a server. */
export interface Connection {
  readonly id: string
  /** Owner and name, such as `ann~notes`; empty for a server that the user may not see any more. */
  readonly server: string
  readonly serverId: string
  readonly issuer: string
  readonly scopes: readonly string[]
  readonly for: ConnectionFor
  readonly state: 'active' | 'sign_in_needed' | 'refused'
  readonly lastUsedAt?: string
  readonly createdAt: string
}

/** A server of the user that waits for a sign-in. */
export interface WantingServer {
  readonly server: string
  readonly serverId: string
}

/** A server at which the user may sign in. */
export interface ConnectPlace {
  readonly server: string
  readonly name: string
  readonly owner: string
  readonly own: boolean
  readonly for: ConnectionFor
  /** The place at which the sign-in is used; absent where the user cannot begin one. */
  readonly host?: string
  /** Values that the server asks the user for, in place of a sign-in. */
  readonly bring?: readonly BroughtValue[]
  readonly connection?: Connection
}

/** A value that a server asks each of its users for. */
export interface BroughtValue {
  readonly name: string
  readonly label: string
  readonly help?: string
}

/** A sign-in that has begun: with an address for the browser, or with a code to enter at the issuer. */
export interface ConnectFlow {
  readonly flow: string
  readonly authorizeUrl?: string
}

/** The state of a sign-in. While one by code waits it has the code, and after a failure the error. */
export interface FlowState {
  readonly flow: string
  readonly state: 'waiting' | 'done' | 'failed'
  readonly expiresAt: string
  readonly code?: string
  readonly message?: string
  readonly title?: string
  readonly hint?: string
  readonly issuer?: string
  readonly verificationUri?: string
  readonly verificationUriComplete?: string
  readonly userCode?: string
}

/** Sign-in of the user at servers. */
export const connectionsApi = {
  list: (signal: AbortSignal) =>
    api.get<{ readonly items: readonly Connection[]; readonly wanting: readonly WantingServer[] }>('/api/connections', {
      signal,
    }),
  place: (id: string, signal: AbortSignal) =>
    api.get<ConnectPlace>(`/api/connections/servers/${segment(id)}`, { signal }),
  begin: (server: string, who: ConnectionFor) =>
    api.post<ConnectFlow>(`${serverPath(server)}/connect`, { body: { for: who } }),
  flow: (id: string, signal: AbortSignal) => api.get<FlowState>(`/api/connections/flows/${segment(id)}`, { signal }),
  enter: (server: string, values: Readonly<Record<string, string>>) =>
    api.put<Connection>(`${serverPath(server)}/connections/me`, { body: { values } }),
  finish: (url: string) => api.post<Connection>('/api/connections/finish', { body: { url } }),
  end: (id: string) => api.delete(`/api/connections/${segment(id)}`),
}
