import { api, type Page, segment } from './client.ts'

/** State of an endpoint. */
export interface EndpointStatus {
  readonly state: 'off' | 'waiting' | 'dialling' | 'connected' | 'backing_off' | 'refused' | 'replaced'
  readonly since?: string
  readonly code?: string
  readonly message?: string
  readonly nextTryAt?: string
  readonly closeCode?: number
  readonly connects?: number
  readonly callsInFlight?: number
  readonly tools?: readonly string[]
  readonly leftOut?: readonly string[]
  readonly lastMessageAt?: string
  readonly latencyMs?: number
}

/** An endpoint of an assistant. */
export interface Endpoint {
  readonly id: string
  readonly ref: string
  readonly name: string
  readonly direction: 'outbound' | 'inbound'
  /** With its token masked. */
  readonly url?: string
  /** With its view as prefix, such as `$smart/ann~home`; `$smart` alone: everything of the owner. Null: it was removed. */
  readonly group: string | null
  readonly kind: 'group' | 'server' | 'all'
  /** The word of the view, such as `smart`. */
  readonly view?: string
  readonly enabled?: boolean
  readonly limits?: { readonly tools?: number; readonly resultCharacters?: number }
  readonly owner: string
  readonly origin: 'api' | 'file'
  /** It has the rights of an ordinary user alone. */
  readonly limited?: true
  readonly revision: number
  readonly last4?: string
  /** Only in the answer that made it. */
  readonly token?: string
  readonly status: EndpointStatus
}

/** A message that went over an endpoint, without its content. */
export interface EndpointMessage {
  readonly at: string
  readonly direction: 'in' | 'out'
  readonly method?: string
  readonly tool?: string
  readonly bytes: number
  readonly durationMs?: number
  readonly outcome?: string
}

/** Writable fields of an endpoint. */
export type EndpointBody = Partial<
  Pick<Endpoint, 'name' | 'direction' | 'url' | 'enabled' | 'limits'> & { readonly group: string }
>

/** Source of a setting. */
export type SettingSource = 'default' | 'file' | 'store' | 'env'

/** State of the service for assistants, and the sources of its settings. */
export interface AssistantBridge {
  readonly enabled: boolean
  readonly source: SettingSource
  readonly variable: string
  /** True when a plugin that serves assistants is running. */
  readonly hasBridge: boolean
  readonly apiKey: { readonly set: boolean; readonly source: SettingSource; readonly variable: string }
  /** Address to which devices connect. */
  readonly socket: string
  /** Endpoints of the settings file that cannot be used; for administrators. */
  readonly fileProblems?: readonly { readonly pointer: string; readonly code: string; readonly detail: string }[]
}

/** The tools of an endpoint as its assistant gets them now. */
export interface EndpointTools {
  readonly items: readonly { readonly name: string; readonly description?: string; readonly tokens: number }[]
  readonly total: number
  readonly leftOut: readonly string[]
  readonly tokens: number
}

/** Result of testing an endpoint. */
export interface EndpointTest {
  readonly ok: boolean
  readonly steps: readonly {
    readonly name: string
    readonly outcome: 'ok' | 'failed' | 'skipped'
    readonly durationMs: number
    readonly code?: string
    readonly params?: Readonly<Record<string, string | number>>
    readonly detail?: string
  }[]
}

const BASE = '/api/assistant/endpoints'

/** The caller's endpoints. */
export const assistantApi = {
  list: (signal: AbortSignal) => api.get<Page<Endpoint>>(BASE, { query: { limit: 100 }, signal }),
  create: (body: EndpointBody) => api.post<Endpoint>(BASE, { body }),
  patch: (ref: string, body: EndpointBody, revision: number) =>
    api.patch<Endpoint>(`${BASE}/${segment(ref)}`, { body, revision }),
  replace: (ref: string, body: EndpointBody, revision: number) =>
    api.put<Endpoint>(`${BASE}/${segment(ref)}`, { body, revision }),
  delete: (ref: string) => api.delete(`${BASE}/${segment(ref)}`),
  token: (ref: string) => api.post<Endpoint>(`${BASE}/${segment(ref)}/token`),
  reconnect: (ref: string) => api.post(`${BASE}/${segment(ref)}/reconnect`),
  test: (ref: string) => api.post<EndpointTest>(`${BASE}/${segment(ref)}/test`),
  tools: (ref: string, signal: AbortSignal) => api.get<EndpointTools>(`${BASE}/${segment(ref)}/tools`, { signal }),
  bridge: (signal: AbortSignal) => api.get<AssistantBridge>('/api/assistant', { signal }),
  messages: (ref: string, signal: AbortSignal) =>
    api.get<Page<EndpointMessage>>(`${BASE}/${segment(ref)}/messages`, { query: { limit: 50 }, signal }),
}
