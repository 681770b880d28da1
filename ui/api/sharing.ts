import { api, type Page, segment } from './client.ts'
import type { ShareRole, ThingRole } from './types.ts'

/** A server or group, as far as its shares are concerned. */
export interface Shared {
  readonly kind: 'server' | 'group'
  /** `owner~name`. */
  readonly ref: string
  readonly name: string
  readonly owner: string
}

/** A share of a server or group. */
export interface Share {
  /** `user:name` or `team:name`. */
  readonly subject: string
  readonly role: ShareRole
  /** `file`: stated in the settings file, and changed there. */
  readonly origin: 'file' | 'store'
  readonly grantedBy?: string
  readonly createdAt: string
}

/** A team; its members are there for administrators and members alone. */
export interface Team {
  readonly id: string
  readonly name: string
  readonly size: number
  readonly members?: readonly string[]
  /** The group of a provider of sign-ins whose users are the members; absent: administrators set them. */
  readonly source?: { readonly provider: string; readonly group: string }
  readonly warnings?: readonly { readonly code: string }[]
  readonly createdAt: string
}

/** Roles of shares, each containing the ones before. */
export const SHARE_ROLES: readonly ShareRole[] = ['use', 'see', 'change']
const ORDER: readonly ThingRole[] = [...SHARE_ROLES, 'owner']

/** True when the reader has this role, or one that contains it. */
export function hasRole({ role }: { readonly role?: ThingRole }, least: ThingRole): boolean {
  return role !== undefined && ORDER.indexOf(role) >= ORDER.indexOf(least)
}

const pathOf = ({ kind, ref }: Pick<Shared, 'kind' | 'ref'>): string => `/api/${kind}s/${segment(ref)}/shares`
const teamPath = (name: string): string => `/api/admin/teams/${segment(name)}`

/** Shares and teams. */
export const sharing = {
  list: async (thing: Pick<Shared, 'kind' | 'ref'>, signal?: AbortSignal): Promise<readonly Share[]> =>
    (await api.get<{ readonly items: readonly Share[] }>(pathOf(thing), { signal })).items,
  put: (thing: Pick<Shared, 'kind' | 'ref'>, subject: string, role: ShareRole): Promise<Share> =>
    api.put<Share>(`${pathOf(thing)}/${segment(subject)}`, { body: { role } }),
  remove: (thing: Pick<Shared, 'kind' | 'ref'>, subject: string): Promise<unknown> =>
    api.delete(`${pathOf(thing)}/${segment(subject)}`),
  teams: async (signal?: AbortSignal): Promise<readonly Team[]> =>
    (await api.get<Page<Team>>('/api/teams', { query: { limit: 1000 }, signal })).items,
  createTeam: (name: string, members: readonly string[]): Promise<Team> =>
    api.post<Team>('/api/admin/teams', { body: { name, members } }),
  changeTeam: (name: string, body: { readonly name: string; readonly members?: readonly string[] }): Promise<Team> =>
    api.patch<Team>(teamPath(name), { body }),
  removeTeam: (name: string): Promise<unknown> => api.delete(teamPath(name)),
}
