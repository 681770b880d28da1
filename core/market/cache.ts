import type { PluginLogger } from '../contract/plugin.ts'
import type { MarketSource, MarketTemplate } from '../contract/points.ts'
import { checkTemplate } from './template-check.ts'

const MOST_PAGES = 1_000
const MOST_TEMPLATES = 20_000
const PAGE_MS = 30_000
/** How long somebody who browses waits for a source that was never read. */
const FIRST_MS = 2_000

/** A template with where it comes from. */
export interface Listed {
  /** `source:name`. */
  readonly id: string
  readonly source: string
  readonly template: MarketTemplate
  /** Lower-case texts that searches look into. */
  readonly title: string
  readonly text: string
}

/** What is known of one source. */
export interface SourceState {
  readonly id: string
  readonly label: string
  readonly state: 'ready' | 'loading' | 'failed'
  readonly templates: number
  /** Entries that break a rule or a limit. */
  readonly leftOut: number
  /** ISO 8601 UTC. */
  readonly readAt?: string
  readonly error?: string
}

interface Kept {
  readonly source: MarketSource
  listed: readonly Listed[]
  leftOut: number
  readAt: Date | undefined
  error: string | undefined
  reading: Promise<void> | undefined
  /** Of a monotonic clock. */
  triedMs: number
}

/** The lists of all sources: each is read as a whole, and replaced as a whole or not at all. */
export class MarketCache {
  readonly #sources: () => ReadonlyMap<string, MarketSource>
  readonly #log: Pick<PluginLogger, 'warn'>
  readonly #now: () => number
  readonly #kept = new Map<string, Kept>()
  readonly #stop = new AbortController()

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(
    sources: () => ReadonlyMap<string, MarketSource>,
    log: Pick<PluginLogger, 'warn'>,
    now: () => number = () => performance.now(),
  ) {
    this.#sources = sources
    this.#log = log
    this.#now = now
  }

  /** Everything that is known now. Waits for sources that were never read, 2 s at most. */
  async all(): Promise<readonly Listed[]> {
    const kept = this.#present()
    const first = kept.flatMap(([id, one]) => (this.#isDue(one) ? this.#read(id, one) : (one.reading ?? [])))
    const isUnknown = kept.some(([, { readAt }]) => !readAt)
    if (isUnknown && first.length > 0) await settledWithin(first, FIRST_MS)
    return kept.flatMap(([, { listed }]) => listed)
  }

  states(): readonly SourceState[] {
    return this.#present().map(([id, { source, listed, leftOut, readAt, error, reading }]) => ({
      ...{ id, label: source.label, templates: listed.length, leftOut },
      state: error !== undefined ? 'failed' : readAt || !reading ? 'ready' : 'loading',
      ...(readAt ? { readAt: readAt.toISOString() } : {}),
      ...(error === undefined ? {} : { error }),
    }))
  }

  /** Reads a source again. False when there is none of this id. */
  async refresh(id: string): Promise<boolean> {
    const found = this.#present().find(([known]) => known === id)
    if (!found) return false
    await (found[1].reading ?? this.#read(...found))
    return true
  }

  dispose(): void {
    this.#stop.abort()
  }

  /** The sources that plugins offer now. */
  #present(): readonly (readonly [string, Kept])[] {
    const sources = this.#sources()
    for (const [id, { source }] of this.#kept) if (sources.get(id) !== source) this.#kept.delete(id)
    return [...sources].map(([id, source]) => {
      const known = this.#kept.get(id)
      if (known) return [id, known] as const
      const state = { listed: [], leftOut: 0, readAt: undefined, error: undefined, reading: undefined }
      const made: Kept = { source, ...state, triedMs: Number.NEGATIVE_INFINITY }
      this.#kept.set(id, made)
      return [id, made] as const
    })
  }

  #isDue({ source, reading, readAt, triedMs }: Kept): boolean {
    if (reading !== undefined) return false
    if (!readAt) return this.#now() - triedMs >= PAGE_MS
    return source.refreshMs > 0 && this.#now() - triedMs >= source.refreshMs
  }

  #read(id: string, kept: Kept): Promise<void> {
    kept.triedMs = this.#now()
    const reading = this.#walk(id, kept)
      .catch((error: unknown) => {
        kept.error = String(error instanceof Error ? error.message : error).slice(0, 500)
        this.#log.warn('A source of the market could not be read; its last list stays', { source: id, error })
      })
      .finally(() => {
        kept.reading = undefined
      })
    kept.reading = reading
    return reading
  }

  async #walk(id: string, kept: Kept): Promise<void> {
    const listed = new Map<string, Listed>()
    let leftOut = 0
    let cursor: string | undefined
    const seen = new Set<string>()
    for (let pages = 0; pages < MOST_PAGES; pages += 1) {
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(PAGE_MS)])
      const page = await kept.source.page(cursor === undefined ? {} : { cursor }, signal)
      for (const given of page.templates) {
        const template = checkTemplate(given)
        if (!template || listed.has(template.name) || listed.size >= MOST_TEMPLATES) leftOut += 1
        else listed.set(template.name, listedOf(id, template))
      }
      cursor = page.next
      // A cursor that comes twice would lead round for ever.
      if (cursor === undefined || cursor === '' || seen.has(cursor)) break
      seen.add(cursor)
    }
    Object.assign(kept, { listed: [...listed.values()], leftOut, readAt: new Date(), error: undefined })
  }
}

function listedOf(source: string, template: MarketTemplate): Listed {
  const { name, title, description, categories, tags = [], publisher = '', variants } = template
  const texts = typeof description === 'string' ? [description] : [description.en, description.zh]
  const packages = variants.flatMap(variant => variant.package ?? [])
  const text = [name, title, ...texts, ...categories, ...tags, publisher, ...packages].join('\n').normalize('NFKC')
  return { id: `${source}:${name}`, source, template, title: title.toLowerCase(), text: text.toLowerCase() }
}

async function settledWithin(work: readonly Promise<void>[], ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([Promise.all(work), late])
  clearTimeout(timer)
}
