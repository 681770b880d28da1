/** The things for which there are quotas. */
export type QuotaKind = 'system' | 'user' | 'key' | 'grant' | 'group' | 'server' | 'tool'

/** The quota that refused a call: its thing, and its number. */
export interface UsedUp {
  readonly of: QuotaKind
  readonly limit: number
}

declare module 'patchbay/contract' {
  interface ErrorCodes {
    quota_rate: UsedUp
    quota_day: UsedUp
    quota_at_once: UsedUp
    quota_tokens: UsedUp
    quota_client_unknown: never
    quota_plans: never
  }
  interface PluginEvents {
    'quotas.near': { of: QuotaKind; name: string; quota: 'perDay' | 'resultTokensPerDay'; limit: number; used: number }
  }
}
