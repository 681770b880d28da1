import { api, type Page, segment } from './client.ts'

/** Severity of an alert. */
export type Severity = 'warning' | 'critical'

/** Writable fields of a rule. */
export interface RuleBody {
  readonly name: string
  readonly condition: string
  readonly severity: Severity
  readonly enabled?: boolean
  readonly threshold?: number
  readonly duration?: string
  readonly per?: 'server' | 'tool' | 'owner' | 'total'
  readonly channels?: readonly string[]
  readonly keepFiringFor?: string
  readonly repeatInterval?: string
  readonly noData?: 'keep' | 'ok' | 'alert'
}

/** A rule. */
export interface Rule extends RuleBody {
  readonly updatedAt: string
  readonly id: string
  readonly ref: string
  readonly owner: string
  readonly origin: 'api' | 'file'
  /** It has the rights of an ordinary user alone. */
  readonly limited?: true
  readonly revision: number
  readonly duration: string
  readonly health: { readonly state: 'ok' | 'error'; readonly code?: string; readonly message?: string }
  /** Subjects whose condition holds, but not for long enough yet. */
  readonly pending?: readonly { readonly subject: string; readonly firesAt: string }[]
}

/** Writable fields of a channel. */
export interface ChannelBody {
  readonly name: string
  readonly type: string
  readonly enabled?: boolean
  readonly config: Readonly<Record<string, unknown>>
}

/** A channel; secrets in its configuration are masked. */
export interface Channel extends ChannelBody {
  readonly updatedAt: string
  readonly id: string
  readonly ref: string
  readonly owner: string
  readonly origin: 'api' | 'file'
  /** It has the rights of an ordinary user alone. */
  readonly limited?: true
  readonly revision: number
}

/** A kind of channel. */
export interface ChannelType {
  readonly type: string
  readonly label: string
  /** The label by language, if the plugin has several. */
  readonly labels?: { readonly en: string; readonly zh?: string }
  readonly configSchema: JsonSchema
  readonly withheld: readonly string[]
}

/** The parts of JSON Schema that forms of channels use. */
export interface JsonSchema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly enum?: readonly string[]
  readonly title?: string
  readonly description?: string
  readonly 'x-zh'?: { readonly title?: string; readonly description?: string }
  readonly format?: string
  readonly writeOnly?: boolean
  readonly items?: JsonSchema
  readonly minimum?: number
  readonly maximum?: number
}

/** Something that fires or fired. */
export interface Alert {
  readonly id: string
  readonly rule: string
  readonly severity: Severity
  readonly condition: string
  readonly threshold?: number
  readonly subject: string
  readonly server?: string
  readonly tool?: string
  readonly state: 'firing' | 'resolved'
  readonly reason?: string
  readonly value: number | string | null
  readonly flapping: boolean
  readonly startsAt: string
  readonly endsAt?: string
  readonly ackedBy?: string
  readonly ackedAt?: string
}

/** A message to a channel. */
export interface Delivery {
  readonly id: string
  readonly kind: 'fired' | 'resolved' | 'repeat' | 'test'
  readonly incident?: string
  readonly state: 'waiting' | 'sent' | 'failed' | 'dead'
  readonly attempts: number
  /** Code of a failure. */
  readonly code?: string
  readonly detail?: string
  readonly createdAt: string
  readonly updatedAt: string
}

/** Filter and period of suppressed messages. */
export interface Silence {
  readonly id: string
  readonly rule?: string
  readonly server?: string
  readonly severity?: Severity
  readonly comment?: string
  readonly startsAt: string
  readonly endsAt: string
}

/** Result of a test message. */
export interface TestDelivery {
  readonly channel: string
  readonly ok: boolean
  /** Code of a failure. */
  readonly code?: string
  readonly detail: string
}

/** Result of a test. */
export interface TestResult {
  readonly holds: boolean
  readonly subjects: readonly {
    readonly subject: string
    readonly value: number | string | null
    readonly holds: boolean | null
    readonly phase: 'inactive' | 'pending' | 'firing'
    readonly heldMs: number
  }[]
  readonly deliveries?: readonly TestDelivery[]
}

/** Result of a rule, now and over the last 24 hours. */
export interface RulePreview {
  readonly condition: string
  readonly now: readonly {
    readonly subject: string
    readonly value: number | string | null
    readonly holds: boolean | null
  }[]
  readonly past?: {
    readonly from: string
    readonly to: string
    readonly stepMs: number
    readonly fired: number
    readonly firings: readonly {
      readonly subject: string
      readonly startsAt: string
      readonly endsAt?: string
      readonly highest: number | null
    }[]
    /** Values of the subject that fired most, or had most calls. */
    readonly series?: { readonly subject: string; readonly values: readonly (number | null)[] }
  }
  /** Reason why there is no past. */
  readonly why?: string
}

const BASE = '/api/monitoring'

/** All rules, channels and what goes with them; lists have at most 500 entries. */
export const alertsApi = {
  rules: (signal: AbortSignal) => api.get<Page<Rule>>(`${BASE}/rules`, { query: { limit: 500 }, signal }),
  rule: (ref: string, signal: AbortSignal) => api.get<Rule>(`${BASE}/rules/${segment(ref)}`, { signal }),
  createRule: (body: RuleBody) => api.post<Rule>(`${BASE}/rules`, { body }),
  replaceRule: (ref: string, body: RuleBody, revision: number) =>
    api.put<Rule>(`${BASE}/rules/${segment(ref)}`, { body, revision }),
  patchRule: (ref: string, body: Partial<RuleBody>) => api.patch<Rule>(`${BASE}/rules/${segment(ref)}`, { body }),
  deleteRule: (ref: string) => api.delete(`${BASE}/rules/${segment(ref)}`),
  channels: (signal: AbortSignal) => api.get<Page<Channel>>(`${BASE}/channels`, { query: { limit: 500 }, signal }),
  channel: (ref: string, signal: AbortSignal) => api.get<Channel>(`${BASE}/channels/${segment(ref)}`, { signal }),
  createChannel: (body: ChannelBody) => api.post<Channel>(`${BASE}/channels`, { body }),
  replaceChannel: (ref: string, body: ChannelBody, revision: number) =>
    api.put<Channel>(`${BASE}/channels/${segment(ref)}`, { body, revision }),
  deleteChannel: (ref: string) => api.delete(`${BASE}/channels/${segment(ref)}`),
  channelTypes: (signal: AbortSignal) => api.get<Page<ChannelType>>(`${BASE}/channel-types`, { signal }),
  deliveries: (ref: string, limit: number, signal: AbortSignal) =>
    api.get<Page<Delivery>>(`${BASE}/channels/${segment(ref)}/deliveries`, { query: { limit }, signal }),
  retry: (ref: string, id: string) => api.post(`${BASE}/channels/${segment(ref)}/deliveries/${segment(id)}/retry`),
  alerts: (state: 'firing' | undefined, limit: number, offset: number, signal: AbortSignal) =>
    api.get<Page<Alert>>(`${BASE}/alerts`, { query: { state, limit, offset }, signal }),
  acknowledge: (id: string) => api.post<Alert>(`${BASE}/alerts/${segment(id)}/ack`),
  silences: (signal: AbortSignal) => api.get<Page<Silence>>(`${BASE}/silences`, { query: { limit: 500 }, signal }),
  silence: (body: Partial<Silence>) => api.post<Silence>(`${BASE}/silences`, { body }),
  endSilence: (id: string) => api.delete(`${BASE}/silences/${segment(id)}`),
  test: (rule: string, send: boolean) => api.post<TestResult>(`${BASE}/test-alert`, { body: { rule, send } }),
  testChannel: (ref: string) => api.post<TestDelivery>(`${BASE}/channels/${segment(ref)}/test`),
  preview: (body: Partial<RuleBody>, signal: AbortSignal) =>
    api.post<RulePreview>(`${BASE}/rule-preview`, { body, signal }),
}
