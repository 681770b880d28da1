import type { JsonValue } from './json.ts'

/** A text for people; in place of a language that is missing stands English. */
export type LocalText = string | { readonly en: string; readonly zh?: string }

/** A page in the console. It stands in the rail, and at `/x/{plugin}/{path}`. */
export interface PageContribution {
  /** Lower-case letters, digits and dashes, at most 64; unique in the plugin. */
  readonly path: string
  /** At most 64 characters. */
  readonly title: LocalText
  /** Name of a lucide icon. The console has about sixty of them for plugins and shows `puzzle` for any other one. */
  readonly icon: string
  /**
   * Absolute path or file: URL of an ES module for browsers, at most 2 MiB, in the plugin's folder: that of its entry file,
   * or one below. The module is read when it is contributed. It is served alone, to anybody who knows its address: it must
   * import nothing and hold no secret.
   */
  readonly module: string
  /** Name of the custom element that the module defines, such as `my-plugin-orders`. */
  readonly element: string
  /** Who sees the page. The module itself protects nothing: the routes that it calls do. */
  readonly access: 'user' | 'admin'
}

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
 * What the console gives a page's element as its property `console`, before the element is connected, and again, as another
 * object, whenever theme or language change.
 */
export interface PageConsole {
  readonly api: PageApi
  readonly theme: 'light' | 'dark'
  readonly language: 'en' | 'zh'
  /** Goes to a place of the console, such as `/servers`. */
  navigate(path: string): void
}
