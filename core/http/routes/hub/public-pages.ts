import type { SystemActor } from '../../../contract/records.ts'
import type { EventBus } from '../../../events/bus.ts'
import type { EventName } from '../../../events/catalog.ts'
import type { ServerRegistry } from '../../../registry/api.ts'
import type { Reply } from '../../route.ts'
import { hasTag, textTag } from '../text-tag.ts'
import { type LiveView, page, viewedServer } from '../views.ts'

/** Dependencies of the public lists. */
export interface PublicPagesDeps {
  readonly registry: { readonly servers: Pick<ServerRegistry, 'list'> }
  readonly upstreams: LiveView
  readonly bus: Pick<EventBus, 'on'>
}

interface PageQuery {
  readonly limit: number
  readonly offset: number
}

interface KeptPage {
  readonly text: string
  readonly etag: string
}

/** Time for which a page is cached, in milliseconds, for changes of state without an event in `CHANGES`. */
const KEPT_MS = 1_000
/** Cached pages (by limit and offset). */
const PAGES = 32
const HEADERS = { 'cache-control': 'public, max-age=60' }

/** Events that change which servers are public or how they are described. */
const CHANGES: readonly EventName[] = [
  ...(['server.created', 'server.updated', 'server.removed'] as const),
  ...(['user.created', 'user.updated', 'user.removed', 'config.changed'] as const),
]

/** Requests are anonymous, so the hub itself reads the list. */
const READER: SystemActor = { kind: 'system', purpose: 'public server list' }

/**
 * Cached pages of the public server list. Each is built once and cached for a second or until a server or user changes,
 * and concurrent requests share one build: many anonymous requests cost as much as one.
 */
export class PublicPages {
  readonly #deps: PublicPagesDeps
  readonly #pages = new Map<string, { readonly madeAtMs: number; readonly page: Promise<KeptPage> }>()

  constructor(deps: PublicPagesDeps) {
    this.#deps = deps
    for (const name of CHANGES) deps.bus.on(name, () => this.#pages.clear())
  }

  /** The response to one request: 304 when the client already has the page. */
  async answer(query: PageQuery, headers: Headers): Promise<Reply> {
    const { text, etag } = await this.#page(query)
    const headersOut = { ...HEADERS, etag }
    if (hasTag(headers, etag)) return { status: 304, headers: headersOut }
    return { text, headers: headersOut }
  }

  #page(query: PageQuery): Promise<KeptPage> {
    const key = `${query.limit}/${query.offset}`
    const nowMs = performance.now()
    const kept = this.#pages.get(key)
    if (kept && nowMs - kept.madeAtMs < KEPT_MS) return kept.page
    this.#pages.delete(key)
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size < PAGES) break
      this.#pages.delete(oldest)
    }
    const made = this.#make(query)
    this.#pages.set(key, { madeAtMs: nowMs, page: made })
    // A failure is not cached: the next request builds the page again.
    made.catch(() => {
      if (this.#pages.get(key)?.page === made) this.#pages.delete(key)
    })
    return made
  }

  async #make(query: PageQuery): Promise<KeptPage> {
    const { registry, upstreams } = this.#deps
    const { items, ...cut } = page(await registry.servers.list(READER, { scope: 'public' }), query)
    const text = JSON.stringify({ items: items.map(record => viewedServer(upstreams, record)), ...cut })
    return { text, etag: textTag(text) }
  }
}
