import { api, type Page, segment } from './client.ts'

/** Scopes of a key. */
export type KeyScope = 'api' | 'api:read' | 'mcp' | { readonly group: string } | { readonly server: string }

/** An access key, without its secret. */
export interface AccessKey {
  readonly id: string
  readonly label: string
  readonly last4: string
  readonly scopes: readonly KeyScope[]
  readonly createdAt: string
  readonly expiresAt?: string
  readonly lastUsedAt?: string
}

/** A key with its secret, which only this answer has. */
export interface NewKey extends AccessKey {
  readonly secret: string
}

/** The caller's keys. */
export const keysApi = {
  list: (signal: AbortSignal) => api.get<Page<AccessKey>>('/api/keys', { query: { limit: 500 }, signal }),
  create: (body: { readonly label: string; readonly scopes: readonly KeyScope[]; readonly expiresAt?: string }) =>
    api.post<NewKey>('/api/keys', { body }),
  /** With an overlap the answer is a separate key, and the old one still works for that time. */
  rotate: (id: string, overlapSeconds: number) =>
    api.post<NewKey>(`/api/keys/${segment(id)}/rotate`, { body: { overlapSeconds } }),
  delete: (id: string) => api.delete(`/api/keys/${segment(id)}`),
}
