import type { ServerRecord } from '../../contract/records.ts'
import type { Era } from '../../domain/era.ts'
import type { CatalogItem } from '../../domain/tools/catalog-item.ts'
import type { LaunchPlan } from '../connection/launch-plan.ts'
import type { OpenedMessage } from '../protocol.ts'
import type { CatalogAccount } from '../store/catalog-account.ts'
import type { ServerContext } from './server-context.ts'

/** The shared connection's lists, with which a probe is compared. */
export interface Seen {
  readonly opened: Pick<OpenedMessage, 'protocolVersion' | 'serverInfo'>
  readonly configHash: string
  readonly tools: readonly CatalogItem[]
}

/** Dependencies of `ServerAsking`. */
export interface ServerAskingOptions {
  readonly context: ServerContext
  readonly record: () => ServerRecord
  /** The plan for opening a connection now. Rejects with HubError. */
  readonly plan: () => Promise<LaunchPlan>
  readonly era: () => Era
  /** True for the legacy side of a server that speaks both eras; its findings, like its lists, are not stored. */
  readonly older?: boolean
  /**
   * Begins to watch the shared connection while a second one is opened; the returned function tells whether the second
   * one left it intact. Absent: it is not watched.
   */
  readonly watchShared?: () => () => Promise<boolean>
  /** The shared connection was broken by a second one: opens it again. */
  readonly reconnect?: () => void
  /** The tools as listed on the shared connection. */
  readonly tools: () => readonly CatalogItem[] | undefined
  /** True when the server may be connected to now: it should run, and no fault is known. */
  readonly usable: () => boolean
  /** Called when clients that support server requests are found to have other tools. */
  readonly found: (extra: readonly CatalogItem[]) => void
}

/** Tools as listed for clients that declare the same capabilities. */
interface Variant {
  readonly tools: readonly CatalogItem[]
  /** Charged bytes of the tools that are not in the shared list. */
  readonly bytes: number
  readonly owner: string
  /** The shared list with which it was compared. */
  readonly base: readonly CatalogItem[]
  readonly epoch: number
}

/** Lists of tools for clients that can be asked, by what such clients declare, charged to the server's owner. */
export class ListVariants {
  readonly #account: Pick<CatalogAccount, 'release'>
  readonly #variants = new Map<string, Variant>()

  constructor(account: Pick<CatalogAccount, 'release'>) {
    this.#account = account
  }

  get(key: string): Variant | undefined {
    return this.#variants.get(key)
  }

  /** `variant.bytes` must have been reserved. */
  set(key: string, variant: Variant): void {
    const before = this.#variants.get(key)
    if (before) this.#account.release(before.owner, before.bytes)
    this.#variants.set(key, variant)
  }

  clear(): void {
    for (const { owner, bytes } of this.#variants.values()) this.#account.release(owner, bytes)
    this.#variants.clear()
  }
}
