import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerRequestKind } from '../../contract/records.ts'
import { everyCapability, listedFor, sharedCapabilities } from '../../domain/client-capabilities.ts'
import type { Era } from '../../domain/era.ts'
import { type Side, scopeOf } from '../../domain/session-scope.ts'
import type { CatalogItem } from '../../domain/tools/catalog-item.ts'
import type { UpstreamFace } from '../api.ts'
import { ServerAskTrials } from '../probe/ask-trials.ts'
import { ProbeFailures } from '../probe/probe-failures.ts'
import { refusesSecond } from '../probe/second-connection.ts'
import { type ProbedTools, probeTools, ToolsProbeFailed } from '../probe/tools-probe.ts'
import type { ServerRequestFindings } from '../store/asking-store.ts'
import { ListVariants, type Seen, type ServerAskingOptions, VariantList } from './asking-options.ts'

const AGAIN_MS = 10 * 60_000
/** Longest wait for the first probe. */
const AWAITED_MS = 10_000
/** A reading that took longer is announced as a change. */
const LATE_MS = 4_500

const BUSY = 'Calls keep its connection busy, and a second one may end it'
const FIRST = 'first'
const LATEST = '2025-11-25'
const NOTHING: readonly never[] = Object.freeze([])
const ALL: readonly ServerRequestKind[] = ['sampling', 'elicitation', 'roots']

/**
 * The server requests (sampling, elicitation, roots) that one server, or one side of it, sends, and the tools that it lists
 * only for clients that support them. They are learnt from a first probe, on a connection that declares all three capabilities,
 * and from observed calls. They are valid until the configuration or the server's version changes.
 */
export class ServerAsking implements UpstreamFace {
  readonly trials = new ServerAskTrials(
    () => this.#applies && (this.kind === 'process' || this.fragile) && this.failure === undefined,
  )
  readonly #options: ServerAskingOptions
  readonly #variants: ListVariants
  readonly #reading = new Map<string, Promise<void>>()
  readonly #failures: ProbeFailures
  #abort = new AbortController()
  #found: ServerRequestFindings | undefined
  /** Server requests observed during calls of this version of the server. */
  readonly #noted = new Set<ServerRequestKind>()
  #serverRequests: readonly ServerRequestKind[] = NOTHING
  /** Why the server refused the probe's connection beside the shared one. */
  #refusal: string | undefined
  #seen: (Omit<ServerRequestFindings, 'serverRequests' | 'tools'> & { readonly protocolVersion: string }) | undefined
  #probing: Promise<void> | undefined
  #probingSinceMs = 0
  #epoch = 0
  #listed = 0
  #disposed = false

  constructor(options: ServerAskingOptions) {
    this.#options = options
    this.#failures = new ProbeFailures(options)
    this.#variants = new ListVariants(options.context.account)
  }

  get era(): Era {
    return this.#options.era()
  }

  get kind(): UpstreamFace['kind'] {
    return this.#options.context.launcher.kindOf(this.#options.record().transport)
  }

  get side(): Side {
    return this.#options.older ? 'older' : this.era
  }

  /** Server requests that it is known to send; empty when nothing is known. */
  get serverRequests(): readonly ServerRequestKind[] {
    return this.#applies ? this.#serverRequests : NOTHING
  }

  /** True when it was found to serve one connection at a time. */
  get single(): boolean {
    return this.#applies && this.#found?.single === true
  }

  /** True while it is not known whether the server bears two connections, and a second one may end it. */
  get unproven(): boolean {
    const isUnknown = this.#found === undefined || this.#found.alone === true
    return this.#applies && isUnknown && this.#options.isSse?.() === true
  }

  get fragile(): boolean {
    return this.unproven && this.#serverRequests.length === 0
  }

  /** Names of the tools that are listed only for clients that support server requests. */
  get tools(): readonly string[] {
    return this.#applies ? (this.#found?.tools ?? NOTHING) : NOTHING
  }

  /** Resolves when the first probe has ended; undefined when none runs or is worth waiting for. Never rejects. */
  get probing(): Promise<void> | undefined {
    if (this.#probing === undefined) return undefined
    return performance.now() - this.#probingSinceMs < AWAITED_MS ? this.#probing : undefined
  }

  /** A number that changes when the tools of `toolsFor` may have changed. */
  get listed(): number {
    return this.#listed
  }

  /** True when the probe is done, or will never be made. */
  get known(): boolean {
    return !this.#applies || this.#found !== undefined || !this.#options.context.probes
  }

  /** Why the last probe failed. */
  get failure(): string | undefined {
    return this.#failures.last
  }

  get #applies(): boolean {
    return scopeOf(this.#options.record()) === 'auto' && this.kind !== 'answers'
  }

  /** Restores the findings of an earlier process. */
  async restore(): Promise<void> {
    const { context, record, older } = this.#options
    if (!this.#applies || this.#found || older) return
    this.#found = await context.askings.find(record().id)
    this.#serverRequests = this.#found?.serverRequests ?? NOTHING
  }

  /** The shared connection has read its lists: starts a probe unless this version of the server was probed. */
  seen({ opened, configHash, tools }: Seen): void {
    const { serverInfo, protocolVersion } = opened
    const version = JSON.stringify([protocolVersion, serverInfo.name ?? null, serverInfo.version ?? null])
    const before = this.#seen
    this.#seen = { configHash, version, protocolVersion }
    if (!this.#applies || this.#probing !== undefined || this.#disposed || !this.#options.context.probes) return
    if (this.#found?.configHash === configHash && this.#found.version === version) return
    const isNew = before?.configHash !== configHash || before.version !== version
    if (isNew) this.#renew()
    else if (this.#failures.isRecent(FIRST)) return
    if (this.kind !== 'remote') return this.#begin(tools)
    // A second connection may break the first one: it waits for a client that can be asked.
    if (isNew) this.#found = undefined
    if (isNew) this.#serverRequests = NOTHING
  }

  // Again beside the shared connection, where the first one was made alone and the server asks.
  /** A client that can be asked has come: makes the first probe of a remote server, unless it was made. Never rejects. */
  probeForClient(): Promise<void> | undefined {
    const tools = this.#options.tools()
    const unknown = !this.known || (this.#found?.alone === true && !this.fragile)
    const due = this.kind === 'remote' && unknown && this.#probing === undefined && !this.#disposed
    if (
      due &&
      tools &&
      this.#seen &&
      this.era === 'legacy' &&
      this.#options.usable() &&
      !this.#failures.isRecent(FIRST)
    )
      this.#begin(tools)
    return this.probing
  }

  /** A second connection is refused, or breaks the first one: all callers share one from now on. */
  onlyOne(why: string): void {
    const seen = this.#seen
    if (!seen || this.single) return
    this.#keep({ serverRequests: NOTHING, tools: NOTHING, single: true, ...seen })
    const { context, record } = this.#options
    const { id: serverId, name: server, ownerId } = record()
    const about = { server, serverId, ownerId, reason: context.redact(why) }
    context.log.warn('A server serves one connection at a time: all callers share it', about)
  }

  /** The next client that can be asked is given a connection of its own, where the server grants one. */
  forgetOnlyOne(): void {
    if (!this.single) return
    this.#found = undefined
    this.#listed += 1
    this.#options.context.askings.remove(this.#options.record().id)
  }

  /** Periodic tick while the shared connection is open: a failed first probe is repeated after 10 min. */
  tick(): void {
    const tools = this.#options.tools()
    if (this.known || this.failure === undefined || this.#probing !== undefined || !this.#seen || !tools) return
    if (!this.#failures.isRecent(FIRST, AGAIN_MS)) this.#begin(tools)
  }

  #renew(): void {
    this.#noted.clear()
    this.trials.renew()
  }

  #begin(tools: readonly CatalogItem[]): void {
    const probing = this.#firstProbe(tools).finally(() => {
      if (this.#probing === probing) this.#probing = undefined
    })
    this.#probing = probing
    this.#probingSinceMs = performance.now()
  }

  /** The tools for clients with capabilities may have changed, though the shared list is the same. */
  stale(): void {
    this.#epoch += 1
  }

  /** The server sent a server request, or would have if the client had declared the capability. */
  noted(capability: ServerRequestKind): void {
    if (!this.#applies || this.#serverRequests.includes(capability)) return
    const { context, record } = this.#options
    this.#noted.add(capability)
    this.#serverRequests = ALL.filter(name => name === capability || this.#serverRequests.includes(name))
    this.trials.settle()
    // Without a finished probe the tools are unknown, so nothing is stored and the next start probes.
    if (this.#found) this.#keep({ ...this.#found, serverRequests: this.#serverRequests })
    const { id: serverId, name: server, ownerId } = record()
    const about = { server, serverId, ownerId, serverRequests: this.#serverRequests }
    context.log.info(
      'A server asks its client during a call; clients that can be asked have connections of their own',
      about,
    )
  }

  /** Ends the probes in progress: the server is disconnected, or its connection changes. */
  abandon(): void {
    this.#abort.abort()
    this.#abort = new AbortController()
    this.#probing = undefined
  }

  /** The tools for a client with these capabilities, if known and different from the shared list. */
  toolsFor(capabilities: JsonObject): readonly CatalogItem[] | undefined {
    if (this.tools.length === 0) return undefined
    const form = listedFor(capabilities)
    return form && this.#variants.get(JSON.stringify(form))?.tools
  }

  /** Resolves when the lists for such a client are ready; undefined when they need not wait. Never rejects. */
  ready(capabilities: JsonObject): Promise<void> | undefined {
    const form = listedFor(capabilities)
    if (!form || !this.#applies) return undefined
    const probing = this.probeForClient()
    if (probing !== undefined) return probing
    const base = this.#options.tools()
    if (this.tools.length === 0 || !base || !this.#options.usable()) return undefined
    const key = JSON.stringify(form)
    const known = this.#variants.get(key)
    if ((known?.base === base && known.epoch === this.#epoch) || this.#failures.isRecent(key)) return undefined
    const running = this.#reading.get(key)
    if (running !== undefined) return running
    const sinceMs = performance.now()
    const reading = this.#listTools(key, form, base)
      .then(probed => {
        // The client that requested the list has not waited for it, so it is notified.
        if (probed && performance.now() - sinceMs > LATE_MS) this.#options.found([])
      })
      .finally(() => this.#reading.delete(key))
    this.#reading.set(key, reading)
    return reading
  }

  /** Resolves when all its connections have ended. */
  async dispose(): Promise<void> {
    this.#disposed = true
    const under = [this.#probing, ...this.#reading.values()]
    this.abandon()
    await Promise.all(under)
    this.#variants.clear()
  }

  async #firstProbe(base: readonly CatalogItem[]): Promise<void> {
    const form = everyCapability(LATEST)
    const alone = this.fragile
    this.#refusal = undefined
    const leftIntact = this.kind === 'remote' && !alone ? this.#options.watchShared?.() : undefined
    const probed = await this.#listTools(JSON.stringify(listedFor(form)), form, base, FIRST)
    if (leftIntact && !(await leftIntact())) {
      this.onlyOne('A second connection broke the first one')
      this.#options.reconnect?.()
      return
    }
    if (leftIntact && this.#refusal !== undefined) return this.onlyOne(this.#refusal)
    const seen = this.#seen
    if (!probed || !seen) return
    const known = new Map(base.map(item => [item.key, item]))
    const extra = probed.tools.filter(item => known.get(item.key)?.fingerprint !== item.fingerprint)
    const serverRequests = extra.length > 0 ? ALL : ALL.filter(name => probed.asked.has(name) || this.#noted.has(name))
    this.#keep({ serverRequests, tools: extra.map(({ key }) => key), ...(alone ? { alone } : {}), ...seen })
    if (extra.length > 0) this.#options.found(extra.filter(({ key }) => !known.has(key)))
  }

  #keep(found: ServerRequestFindings): void {
    this.#found = found
    this.#serverRequests = found.serverRequests
    this.#listed += 1
    const { context, record, older } = this.#options
    if (!older) context.askings.save(record().id, found)
  }

  async #listTools(
    key: string,
    form: JsonObject,
    base: readonly CatalogItem[],
    what = key,
  ): Promise<ProbedTools | undefined> {
    const { context, record, plan, era } = this.#options
    const { ownerId } = record()
    const { signal } = this.#abort
    const epoch = this.#epoch
    const list = new VariantList(context.account, ownerId, base)
    let release: (() => void) | undefined
    let turn: (() => void) | undefined
    try {
      const ready = await plan()
      release = await context.probes?.acquire(ownerId)
      if (this.fragile) {
        turn = await this.#options.turns?.take()
        if (!turn) throw new HubError('upstream_timeout', BUSY)
      }
      if (signal.aborted) return undefined
      const probed = await probeTools(context.launcher, ready, {
        era: era(),
        offers: sharedCapabilities(form, this.#seen?.protocolVersion ?? LATEST),
        take: items => list.take(items),
        signal,
      })
      if (list.full !== undefined) throw new HubError('quota_catalog_bytes', list.full)
      if (signal.aborted) return undefined
      if (!probed) throw new HubError('upstream_timeout', 'Its tools were not listed in time')
      this.#failures.succeeded()
      this.#variants.set(key, { ...list.keep(probed.tools), owner: ownerId, base, epoch })
      this.#listed += 1
      return probed
    } catch (error) {
      if (!signal.aborted) this.#failures.add(what, error)
      if (this.kind === 'remote' && error instanceof ToolsProbeFailed && refusesSecond(error.reason))
        this.#refusal = error.reason.message
      return undefined
    } finally {
      turn?.()
      release?.()
      list.release()
    }
  }
}
