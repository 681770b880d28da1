import { api } from 'patchbay/console'

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
  readonly quota: Quota
  readonly used: Readonly<Record<keyof Quota, number>>
}

export type UsageBy = 'day' | 'server' | 'tool' | 'key'

/** Calls of one day. */
export interface UsageSum {
  readonly day: string
  readonly key?: string
  readonly server?: string
  readonly tool?: string
  readonly calls: number
  readonly failures: number
  readonly resultTokens: number
}

/** Calls of the user, and quotas. */
export const usageApi = {
  quotas: (signal: AbortSignal) => api.get<{ readonly items: readonly UsedQuota[] }>('/api/quotas', { signal }),
  sums: (by: UsageBy, range: string, all: boolean, signal: AbortSignal) =>
    api.get<{ readonly items: readonly UsageSum[] }>('/api/usage', { query: { by, range, all: String(all) }, signal }),
}
