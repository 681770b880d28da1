import { api, segment } from 'patchbay/console'

/** Rights of a client: `mcp:tools` includes `mcp:read`. */
export type GrantScope = 'mcp:tools' | 'mcp:read'

/** The servers that a client may use. */
export interface GrantTarget {
  readonly kind: 'all' | 'group' | 'server'
  readonly id?: string
  readonly name?: string
}

/** Origin of what the hub knows of a client. */
export type ClientKind = 'document' | 'registered' | 'listed'

/** A request of a client that waits for a decision. */
export interface ConsentRequest {
  readonly client: { readonly id: string; readonly name: string; readonly host?: string; readonly kind: ClientKind }
  /** Host to which the answer goes. */
  readonly redirectHost: string
  /** True when nothing proves that the client is the one of its name. */
  readonly anyProgram: boolean
  readonly resource: string
  readonly scopes: readonly GrantScope[]
  readonly targets: readonly GrantTarget[]
  readonly expiresAt: string
}

/** A client that the user has agreed to. */
export interface Grant {
  readonly id: string
  readonly client: { readonly id: string; readonly name: string; readonly host?: string; readonly kind: ClientKind }
  readonly redirectHost: string
  readonly resource: string
  readonly target: GrantTarget
  readonly scopes: readonly GrantScope[]
  readonly createdAt: string
  readonly lastUsedAt: string
}

/** A client as administrators see it. */
export interface OAuthClient {
  readonly id: string
  readonly clientId: string
  readonly name: string
  readonly kind: ClientKind
  readonly host?: string
  readonly redirectUris?: readonly string[]
  readonly grants: number
  readonly blocked: boolean
}

/** A method of authentication of a listed client. */
export type ClientMethod = 'none' | 'client_secret_post' | 'client_secret_basic'

interface NewClient {
  readonly name: string
  readonly redirectUris: readonly string[]
  readonly method: ClientMethod
}

interface Decision {
  readonly allow: boolean
  readonly scopes?: readonly GrantScope[]
  readonly target?: Omit<GrantTarget, 'name'>
}

interface Items<T> {
  readonly items: readonly T[]
}

const CLIENTS = '/api/admin/oauth/clients'

/** Sign-in of clients. */
export const oauthApi = {
  request: (request: string, signal: AbortSignal) =>
    api.post<ConsentRequest>('/api/oauth/requests', { body: { request }, signal }),
  decide: (request: string, decision: Decision) =>
    api.post<{ readonly redirect: string }>('/api/oauth/decisions', { body: { request, ...decision } }),
  grants: (signal: AbortSignal) => api.get<Items<Grant>>('/api/oauth/grants', { signal }),
  end: (id: string) => api.delete(`/api/oauth/grants/${segment(id)}`),
  clients: (signal: AbortSignal) => api.get<Items<OAuthClient>>(CLIENTS, { signal }),
  list: (body: NewClient) => api.post<OAuthClient & { readonly secret?: string }>(CLIENTS, { body }),
  block: (id: string, blocked: boolean) => api.patch<OAuthClient>(`${CLIENTS}/${segment(id)}`, { body: { blocked } }),
  remove: (id: string) => api.delete(`${CLIENTS}/${segment(id)}`),
}
