import { api, segment } from 'patchbay/console'

/** The content that a rule looks for. */
export interface GuardMatch {
  readonly secrets?: true | readonly string[]
  readonly personal?: true | readonly string[]
  readonly pattern?: string | readonly string[]
  readonly domains?: readonly string[]
}

/** An address that looks at content. */
export interface GuardWebhook {
  readonly url: string
  readonly secret: string
  readonly timeoutMs?: number
  readonly onFailure?: 'open' | 'closed'
}

/** A rule about content. */
export interface GuardRule {
  readonly id: string
  readonly on: 'arguments' | 'result' | 'both'
  readonly match?: GuardMatch
  readonly webhook?: GuardWebhook
  readonly then: 'observe' | 'mask' | 'refuse'
  readonly tools?: readonly string[]
  readonly tags?: readonly string[]
}

/** Calls in which a rule found something. */
export interface GuardCounts {
  readonly since: string
  readonly observed: number
  readonly masked: number
  readonly refused: number
  readonly failed: number
}

/** The rules of one place. */
export interface GuardRules {
  readonly rules: readonly GuardRule[]
  readonly counts: Readonly<Record<string, GuardCounts>>
}

/** A server or group with rules; `hub`: all calls. */
export interface GuardPlace {
  readonly kind: 'hub' | 'server' | 'group'
  /** Owner and name, such as `ann~notes`; empty for the hub. */
  readonly ref: string
  readonly name: string
}

/** A place with its rules. */
export type GuardedPlace = GuardPlace & GuardRules

/** One place at which a rule found something. */
export interface GuardSample {
  readonly at: string
  readonly on: 'arguments' | 'result'
  readonly server: string
  readonly tool?: string
  readonly action: 'observed' | 'masked' | 'refused' | 'failed'
  readonly path: string
  readonly kind: string
  readonly length: number
  readonly host?: string
}

const pathOf = ({ kind, ref }: GuardPlace): string =>
  kind === 'hub' ? '/api/admin/guards' : `/api/${kind}s/${segment(ref)}/guards`

/** Rules about the content of calls. */
export const guardsApi = {
  own: (signal: AbortSignal) => api.get<{ readonly items: readonly GuardedPlace[] }>('/api/guards', { signal }),
  of: (place: GuardPlace, signal?: AbortSignal) => api.get<GuardRules>(pathOf(place), signal ? { signal } : {}),
  /** The rules of the hub are the configuration of the plugin. */
  replace: (place: GuardPlace, rules: readonly GuardRule[]) =>
    place.kind === 'hub'
      ? api.patch<unknown>('/api/admin/plugins/guards', { body: { config: { rules } } })
      : api.put<unknown>(pathOf(place), { body: { rules } }),
  samples: (place: GuardPlace, id: string, signal: AbortSignal) =>
    api.get<{ readonly items: readonly GuardSample[] }>(`${pathOf(place)}/${segment(id)}/samples`, { signal }),
}
