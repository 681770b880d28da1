import { api, type PieceSubject, segment } from 'patchbay/console'

/** Most calls and tokens; absent members: unlimited. */
export interface Quota {
  readonly perMinute?: number
  readonly perDay?: number
  readonly atOnce?: number
  readonly resultTokensPerDay?: number
}

/** A quota that concerns the user, with what is used of it. */
export interface UsedQuota {
  readonly of: 'system' | 'user' | 'key' | 'grant' | 'group' | 'server' | 'tool'
  readonly id?: string
  readonly name?: string
  /** Owner of a thing of somebody else; `used` then counts the reader's own calls of the day. */
  readonly owner?: string
  readonly quota: Quota
  readonly used: Readonly<Partial<Record<keyof Quota, number>>>
}

export type UsageBy = 'day' | 'server' | 'tool' | 'key'

/** Calls of one day. */
export interface UsageSum {
  readonly day: string
  readonly key?: string
  readonly user?: string
  readonly server?: string
  /** The server is gone, or the user may not see it any more. */
  readonly unseen?: true
  readonly tool?: string
  readonly calls: number
  readonly failures: number
  readonly resultTokens: number
}

/** The quota of a thing; null: none, and nothing is counted. */
export interface QuotaState {
  readonly quota: Quota | null
  readonly used?: Readonly<Record<keyof Quota, number>>
  /** True for a tool that the server does not have at present. */
  readonly missing?: true
  /** For a server: quotas of its tools, by the server's own names. */
  readonly tools?: Readonly<Record<string, QuotaState>>
  /** For a key: quotas of keys from which it descends. */
  readonly behind?: readonly (Required<Pick<QuotaState, 'quota' | 'used'>> & {
    readonly id: string
    /** Absent for a deleted key. */
    readonly label?: string
  })[]
}

/** A change of the quota of a thing. `tools`: all of a server. */
export interface QuotaChange {
  readonly quota?: Quota | null
  readonly tools?: Readonly<Record<string, Quota>>
}

const pathOf = ({ kind, ref }: PieceSubject): string =>
  `/api/${kind === 'user' ? 'admin/' : ''}${kind}s/${segment(ref)}/quota`

/** Calls of the user, and quotas. */
export const usageApi = {
  quotas: (signal: AbortSignal) => api.get<{ readonly items: readonly UsedQuota[] }>('/api/quotas', { signal }),
  of: (subject: PieceSubject, signal?: AbortSignal) => api.get<QuotaState>(pathOf(subject), signal ? { signal } : {}),
  set: (subject: PieceSubject, change: QuotaChange) => api.put<QuotaState>(pathOf(subject), { body: { ...change } }),
  /** Calls of a server of the user's, by day and person. */
  ofPeople: (server: string, range: string, signal: AbortSignal) =>
    api.get<{ readonly items: readonly UsageSum[] }>('/api/usage', { query: { by: 'user', range, server }, signal }),
  sums: (by: UsageBy, range: string, all: boolean, signal: AbortSignal) =>
    api.get<{ readonly items: readonly UsageSum[] }>('/api/usage', { query: { by, range, all: String(all) }, signal }),
}
