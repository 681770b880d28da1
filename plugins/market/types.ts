import type { JsonValue } from 'patchbay/contract'
import type { ServerTemplate, TemplateInput, TemplateVariant } from 'patchbay/plugin-kit'

/** The types that the market shares with plugins that add sources to it, as `patchbay/plugins/market`. */

export type MarketTemplate = ServerTemplate
export type MarketVariant = TemplateVariant
export type MarketInput = TemplateInput

declare module 'patchbay/contract' {
  interface ErrorCodes {
    template_not_found: never
    source_not_found: never
    market_disabled: never
    upgrade_unavailable: never
    template_unusable: never
    template_integrity: never
    market_unavailable: never
  }
  interface ExtensionPoints {
    marketSource: MarketSource
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
