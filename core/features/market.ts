import type { JsonValue } from '../contract/json.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    marketSource: MarketSource
  }
}

declare module '../contract/records.ts' {
  interface ServerRecord {
    /** The template of the market from which it was installed. */
    readonly template?: TemplateOrigin
  }
}

/** Where templates of servers come from. What it gives is data: the hub checks it, and stores and searches it itself. */
export interface MarketSource {
  readonly label: string
  /** After how many milliseconds it is asked again; 0: never. */
  readonly refreshMs: number
  /** What kind of list it is, which says how far its entries are checked by somebody. Default `catalogue`. */
  readonly origin?: 'bundled' | 'registry' | 'catalogue'
  /** Whether it needs the network. Default true: it is not asked with MARKET_OFFLINE, and its list is kept over a restart. */
  readonly network?: boolean
  /** What its list belongs to, such as a URL: a kept list of another place is not used. Default: its label. */
  readonly place?: string
  /** Whether `page` knows `since`. Default false: each time the whole list is read. */
  readonly incremental?: boolean
  /**
   * `since` (ISO 8601 UTC, only for an `incremental` source): only what has changed since then, also what was deleted, as
   * entries with the status `deleted`.
   */
  page(at: { readonly cursor?: string; readonly since?: string }, signal: AbortSignal): Promise<MarketPage>
  /** The newest version of a package for a variant that names none. Rejects with HubError. */
  pin?(variant: MarketVariant, signal: AbortSignal): Promise<string>
}

/** A part of a list; `next` is the cursor of the one behind it. */
export interface MarketPage {
  readonly templates?: readonly MarketTemplate[]
  /** Entries in the form of the MCP Registry (`server.json`, alone or as `server`), of which the hub makes templates. */
  readonly entries?: readonly JsonValue[]
  readonly next?: string
}

/** A server that users can install: plain texts, https links. */
export interface MarketTemplate {
  /** Unique in its source. */
  readonly name: string
  readonly title: string
  readonly description: string | { readonly en: string; readonly zh: string }
  readonly version: string
  readonly status?: 'active' | 'deprecated'
  /** What its user should know. */
  readonly message?: string
  readonly publisher?: string
  readonly homepage?: string
  readonly repository?: string
  readonly license?: string
  readonly categories: readonly string[]
  readonly tags?: readonly string[]
  /** How many tools it had when somebody counted. */
  readonly toolCount?: number
  /** ISO 8601 UTC: when this version was published. */
  readonly updatedAt?: string
  /** Ways to run it, the best first. */
  readonly variants: readonly MarketVariant[]
  readonly inputs: readonly MarketInput[]
}

/** One way to run a template. `{name}` in texts stands for an input; a word of `args` is one word whatever is in it. */
export interface MarketVariant {
  readonly id: string
  readonly kind: 'npm' | 'pypi' | 'remote'
  /** Of the package registry, with an exact version. */
  readonly package?: string
  readonly version?: string
  /** Behind the package. Words in a list of their own come together, or not at all where an input of them has no value. */
  readonly args?: readonly (string | readonly string[])[]
  readonly env?: Readonly<Record<string, string>>
  /** Remote: https. */
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Remote: default `streamable-http`. */
  readonly transport?: 'sse' | 'streamable-http'
}

/** What a user enters for a template. */
export interface MarketInput {
  readonly name: string
  /** For people. Default: made of the name. */
  readonly label?: string
  readonly description?: string
  /** Type of the value; a `path` refers to the machine that runs the server. Default `string`. */
  readonly format?: 'string' | 'number' | 'boolean' | 'path'
  /** An example, shown while nothing is entered. */
  readonly placeholder?: string
  readonly required?: boolean
  readonly secret?: boolean
  readonly default?: string
  readonly choices?: readonly string[]
}

/** What was installed of a template, by which differences to other versions are found. */
export interface InstalledTemplate {
  readonly version: string
  /** The one way to run it that was chosen. */
  readonly variant: MarketVariant
  /** Those of its inputs that this variant uses. */
  readonly inputs: readonly MarketInput[]
  /** By name of the input, the variable of the server that holds what was entered. */
  readonly variables: Readonly<Record<string, string>>
  /** ISO 8601 UTC. */
  readonly installedAt: string
}

/** Where an installed server comes from. */
export interface TemplateOrigin extends InstalledTemplate {
  /** `source:name`. */
  readonly id: string
  /** What it was upgraded from, to which it can go back. */
  readonly previous?: InstalledTemplate
}
