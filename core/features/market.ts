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

/** A source of server templates. It only returns data: the hub checks it, and stores and searches it itself. */
export interface MarketSource {
  readonly label: string
  /** Milliseconds after which it is asked again; 0: never. */
  readonly refreshMs: number
  /** The kind of list, which says how far somebody checks its entries. Default `catalogue`. */
  readonly origin?: 'bundled' | 'registry' | 'catalogue'
  /** True when it needs the network: it is not asked with MARKET_OFFLINE, and its list is kept over a restart. Default true. */
  readonly network?: boolean
  /** The place of its list, such as a URL: a kept list of another place is not used. Default: its label. */
  readonly place?: string
  /** True when `page` knows `since`. Default false: the whole list is read each time. */
  readonly incremental?: boolean
  /**
   * `since` (ISO 8601 UTC, only for an `incremental` source): returns only the entries that changed since then, and the deleted
   * ones with the status `deleted`.
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
  /** A notice for its user. */
  readonly message?: string
  readonly publisher?: string
  readonly homepage?: string
  readonly repository?: string
  readonly license?: string
  readonly categories: readonly string[]
  readonly tags?: readonly string[]
  /** Number of its tools when somebody counted them. */
  readonly toolCount?: number
  /** Time at which this version was published, ISO 8601 UTC. */
  readonly updatedAt?: string
  /** Ways to run it, the best first. */
  readonly variants: readonly MarketVariant[]
  readonly inputs: readonly MarketInput[]
}

/** One way to run a template. `{name}` in texts stands for an input; a word of `args` is one word whatever is in it. */
export interface MarketVariant {
  readonly id: string
  readonly kind: 'npm' | 'pypi' | 'remote'
  /** Name in the package registry. It comes with an exact version. */
  readonly package?: string
  readonly version?: string
  /**
   * Arguments behind the package. The words of an inner list are given together, or not at all where one of their inputs has no
   * value.
   */
  readonly args?: readonly (string | readonly string[])[]
  readonly env?: Readonly<Record<string, string>>
  /** Remote: https. */
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Remote: default `streamable-http`. */
  readonly transport?: 'sse' | 'streamable-http'
}

/** A value that a user enters for a template. */
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

/** The installed version of a template, with which other versions are compared. */
export interface InstalledTemplate {
  readonly version: string
  /** The variant that was chosen. */
  readonly variant: MarketVariant
  /** The template's inputs that this variant uses. */
  readonly inputs: readonly MarketInput[]
  /** The variable of the server that holds each entered value, by name of the input. */
  readonly variables: Readonly<Record<string, string>>
  /** ISO 8601 UTC. */
  readonly installedAt: string
}

/** The template from which a server was installed. */
export interface TemplateOrigin extends InstalledTemplate {
  /** `source:name`. */
  readonly id: string
  /** The version from which it was upgraded, to which it can return. */
  readonly previous?: InstalledTemplate
}
