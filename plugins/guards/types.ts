import type { Rule } from './rules.ts'

/** The rules of the hub, of a server, or of a group. */
export interface Place {
  /** `hub`, `server {id}` or `group {id}`. */
  readonly key: string
  readonly rules: readonly Rule[]
  /** The owner of the server or group when its webhooks were saved; absent without webhooks. */
  readonly webhooksOf?: string
  /** True when an administrator saved its webhooks while its owner was one too; otherwise they have the rights of an ordinary user. */
  readonly isByAdmin?: boolean
}

/** The actions of a rule that are counted. */
export type Action = 'observed' | 'masked' | 'refused' | 'failed'

declare module 'patchbay/contract' {
  interface ErrorCodes {
    guard_refused: { rule: string }
    guard_not_found: never
  }
}
