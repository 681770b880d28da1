import { createHash } from 'node:crypto'
import { HubError, isJsonObject } from 'patchbay/contract'
import { goneName, nextTurn, quoteName, serverJsonTemplate } from 'patchbay/plugin-kit'
import { normalForm } from 'patchbay/transport-kit'
import { checkTemplate } from './template-check.ts'
import type { MarketPage, MarketSource, MarketTemplate } from './types.ts'

const MOST_PAGES = 1_000
const CURSOR_CHARACTERS = 4_096
const MOST_TEMPLATES = 50_000
/** Characters of the JSON of all templates of one source. */
const MOST_CHARACTERS = 64 * 1024 * 1024
const PAGE_MS = 30_000
/** Longest turn of checking templates; others are answered in between. */
const SLICE_MS = 5

/** A template with its source. */
export interface Listed {
  /** `source:name`. */
  readonly id: string
  readonly source: string
  readonly template: MarketTemplate
  /** Lower-case texts for searches. */
  readonly title: string
  readonly text: string
}

/** The templates of one source. */
export interface TemplateList {
  readonly listed: readonly Listed[]
  /** Entries that break a rule or a limit. */
  readonly leftOut: number
}

/** List of an incremental source, and the time from which its changes are requested. */
export interface KnownList {
  readonly list: TemplateList
  readonly since: Date
}

/**
 * Reads a source to its end, or with `known` only the changes. Rejects when a page fails or the list is endless; its content is
 * not used then.
 */
export async function walkSource(
  id: string,
  source: MarketSource,
  stop: AbortSignal,
  known?: KnownList,
): Promise<TemplateList> {
  const list = new ListBuilder(id, known?.list)
  const since = known ? { since: known.since.toISOString() } : {}
  const walked = new WalkedPages()
  let cursor: string | undefined
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(PAGE_MS)])
    const page = await source.page({ ...(cursor === undefined ? {} : { cursor }), ...since }, signal)
    walked.add(page)
    await addPage(list, page)
    cursor = page.next
    if (cursor === undefined || cursor === '') return list
  }
  throw new HubError('upstream_protocol', `The list has no end: after ${MOST_PAGES} pages there is still another one`)
}

/** Pages of one walk: a list that repeats itself would never end, and is incomplete so far. */
class WalkedPages {
  readonly #cursors = new Set<string>()
  readonly #items = new Set<string>()
  #count = 0

  /** Throws `upstream_protocol` for a repeated cursor, and for a page with only repeated entries. */
  add({ templates = [], entries = [], next }: MarketPage): void {
    this.#count += 1
    const items = [...templates, ...entries].map(itemName)
    if (items.length > 0 && items.every(item => this.#items.has(item))) {
      throw repeats(`page ${this.#count} has only entries of earlier pages`)
    }
    for (const item of items) this.#items.add(item)
    if (next === undefined || next === '') return
    if (typeof next !== 'string' || next.length > CURSOR_CHARACTERS) {
      throw new HubError(
        'upstream_protocol',
        `The cursor of page ${this.#count} is no text of at most ${CURSOR_CHARACTERS} characters`,
      )
    }
    if (this.#cursors.has(next))
      throw repeats(`page ${this.#count} has the cursor of an earlier one, ${quoteName(next)}`)
    this.#cursors.add(next)
  }
}

function repeats(why: string): HubError {
  return new HubError('upstream_protocol', `The list repeats itself: ${why}`)
}

/** Identity of an entry: name and version, else its hash. */
function itemName(item: unknown): string {
  const outer = isJsonObject(item) ? item : {}
  const { name, version } = isJsonObject(outer.server) ? outer.server : outer
  if (typeof name === 'string') return JSON.stringify([name, version ?? null])
  return createHash('sha256')
    .update(JSON.stringify(item) ?? '')
    .digest('hex')
}

async function addPage(list: ListBuilder, { templates = [], entries = [] }: MarketPage): Promise<void> {
  for (const given of templates) await list.add(given)
  for (const entry of entries) {
    const template = serverJsonTemplate(entry)
    if (template) await list.add(template)
    else if (list.isChange) list.remove(goneName(entry))
  }
}

/** Checks templates and counts those that break a rule or a limit. */
export class ListBuilder implements TemplateList {
  readonly #source: string
  readonly #byName = new Map<string, Listed>()
  #characters = 0
  #sliceStartedMs = performance.now()
  leftOut = 0

  /** True when new templates replace those of the same name in `known`. */
  readonly isChange: boolean

  constructor(source: string, known?: TemplateList) {
    this.#source = source
    this.isChange = known !== undefined
    for (const one of known?.listed ?? []) this.#put(one)
    this.leftOut = known?.leftOut ?? 0
  }

  get listed(): readonly Listed[] {
    return [...this.#byName.values()]
  }

  async add(given: unknown): Promise<void> {
    if (performance.now() - this.#sliceStartedMs >= SLICE_MS) {
      await nextTurn()
      this.#sliceStartedMs = performance.now()
    }
    const template = checkTemplate(given)
    if (this.isChange) this.remove(isJsonObject(given) ? given.name : undefined)
    const characters = template ? JSON.stringify(template).length : 0
    const isFull = this.#byName.size >= MOST_TEMPLATES || this.#characters + characters > MOST_CHARACTERS
    if (!template || isFull || this.#byName.has(template.name)) this.leftOut += 1
    else this.#put(listedOf(this.#source, template), characters)
  }

  remove(name: unknown): void {
    const listed = typeof name === 'string' ? this.#byName.get(name) : undefined
    if (!listed) return
    this.#characters -= JSON.stringify(listed.template).length
    this.#byName.delete(listed.template.name)
  }

  #put(listed: Listed, characters = JSON.stringify(listed.template).length): void {
    this.#characters += characters
    this.#byName.set(listed.template.name, listed)
  }
}

function listedOf(source: string, template: MarketTemplate): Listed {
  const { name, title, description, categories, tags = [], publisher = '', variants } = template
  const texts = typeof description === 'string' ? [description] : [description.en, description.zh]
  const packages = variants.flatMap(variant => variant.package ?? [])
  const words = [name, title, ...texts, ...categories, ...tags, publisher, ...packages]
  const text = normalForm(words.join('\n'), 'NFKC')
  return { id: `${source}:${name}`, source, template, title: title.toLowerCase(), text: text.toLowerCase() }
}
