/** One error code of a plugin, by which people and programs know a refusal. Its name begins with the plugin's and `_`. */
export interface ErrorKind {
  /** HTTP status, 400 to 599. */
  readonly status: number
  readonly title: string
  /** One sentence: what its reader can do, at most 160 characters. */
  readonly remedy: string
  /** The JSON-RPC code under `/mcp`. Default −32600, or −32603 from 500 on. */
  readonly rpc?: number
  /** The same request may succeed later. */
  readonly retry?: true
}

/** An event of a plugin. `owner`: sent to its owner and administrators; `public`: to every user. */
export type EventKind = Readonly<{ audience: 'owner' | 'public' }>

/**
 * A point of a plugin's own, which ends with the plugin; contributions to it wait until it is back. `main`: contributions run in
 * the main thread, so that an isolated plugin cannot add any.
 */
export type PointKind = Readonly<{ main?: boolean }>

/** The limits of all plugins, with the effective numbers. A plugin merges its own into it. */
// biome-ignore lint/suspicious/noEmptyInterface: plugins merge their limits into it
export interface Limits {}
