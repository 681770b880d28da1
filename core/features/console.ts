import type { JsonValue } from '../contract/json.ts'

/** Options of a request of a page. */
export interface PageRequest {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  /** Sent as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/**
 * The hub's API in the rights of the signed-in user. `path` begins with `/api/`. Resolves with the JSON of the answer,
 * undefined for one without a body; rejects with PageError.
 */
export interface PageApi {
  get(path: string, options?: PageRequest): Promise<JsonValue | undefined>
  post(path: string, options?: PageRequest): Promise<JsonValue | undefined>
  put(path: string, options?: PageRequest): Promise<JsonValue | undefined>
  patch(path: string, options?: PageRequest): Promise<JsonValue | undefined>
  delete(path: string, options?: PageRequest): Promise<JsonValue | undefined>
}

/** An answer that is no success, or `hub_unreachable` (status 0) without one. The message says what happened. */
export interface PageError extends Error {
  readonly status: number
  readonly code: string
  readonly hint: string | undefined
  readonly requestId: string | undefined
  /** Mistakes in single fields of the body; `pointer` such as `#/name`. */
  readonly fields: readonly { readonly pointer: string; readonly code: string; readonly detail: string }[]
}

/**
 * The value of the property `console` of a page's element. The console sets it before the element is connected, and sets a new
 * object whenever theme or language change.
 */
export interface PageConsole {
  readonly api: PageApi
  readonly theme: 'light' | 'dark'
  readonly language: 'en' | 'zh'
  /** Goes to a place of the console, such as `/servers`. */
  navigate(path: string): void
}
