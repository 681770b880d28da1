import type { ServerRecord } from '../../contract/records.ts'
import type { Era } from '../../domain/era.ts'
import type { CatalogItem } from '../../domain/tools/catalog-item.ts'
import type { LaunchPlan } from '../connection/launch-plan.ts'
import type { ConnectionTurns } from '../probe/connection-turns.ts'
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
  /** True while the transport in effect is SSE: a second connection may end such a server. Absent: it is not. */
  readonly isSse?: () => boolean
  /** Turns of connections that are open alone. Absent where there are none. */
  readonly turns?: Pick<ConnectionTurns, 'take'>
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

/** The tools of one variant while they are read, charged to the server's owner. Those of the shared list are held once. */
export class VariantList {
  readonly #account: Pick<CatalogAccount, 'reserve' | 'release'>
  readonly #owner: string
  readonly #known: ReadonlyMap<string, CatalogItem>
  #bytes = 0
  #full: string | undefined

  constructor(account: Pick<CatalogAccount, 'reserve' | 'release'>, owner: string, base: readonly CatalogItem[]) {
    this.#account = account
    this.#owner = owner
    this.#known = new Map(base.map(item => [item.key, item]))
  }

  /** Why no more items are taken. */
  get full(): string | undefined {
    return this.#full
  }

  /** Charges items; returns the reason when no more are taken. */
  take(items: readonly CatalogItem[]): string | undefined {
    const more = items.reduce((sum, item) => sum + (this.#shared(item) ? 0 : item.bytes), 0)
    if (this.#account.reserve(this.#owner, more, 0)) this.#bytes += more
    else this.#full = 'The lists of all servers of this user are too large'
    return this.#full
  }

  /** The tools with what they are charged, which the caller releases from now on. */
  keep(tools: readonly CatalogItem[]): { readonly tools: readonly CatalogItem[]; readonly bytes: number } {
    const bytes = this.#bytes
    this.#bytes = 0
    return { tools: tools.map(item => this.#shared(item) ?? item), bytes }
  }

  /** Releases what was charged and not kept. */
  release(): void {
    this.#account.release(this.#owner, this.#bytes)
    this.#bytes = 0
  }

  #shared(item: CatalogItem): CatalogItem | undefined {
    const known = this.#known.get(item.key)
    return known?.fingerprint === item.fingerprint ? known : undefined
  }
}
