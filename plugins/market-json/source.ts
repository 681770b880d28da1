import { createHash } from 'node:crypto'
import { type GuardedFetch, type GuardedResponse, HubError, isJsonObject, type JsonValue } from 'patchbay/contract'
import type { MarketSource, MarketTemplate } from 'patchbay/plugins/market'
import { ERRORS } from './errors.ts'
import { hubEntryTemplate } from './hub-entry.ts'
import { type JsonItem, JsonItems } from './json-items.ts'

const MOST_CHARACTERS = 32 * 1024 * 1024
const ITEM_CHARACTERS = 256 * 1024
const MOST_ITEMS = 60_000

/** One catalogue as an administrator configures it. */
export interface Catalogue {
  readonly url: string
  /** SHA-256 of the file, in hex; other content is rejected. */
  readonly sha256?: string | undefined
  readonly refreshMs: number
}

/** A JSON file as a source: templates, entries of registries, or the map of a hub. */
export function catalogueSource(
  { url, sha256, refreshMs }: Catalogue,
  fetch: GuardedFetch,
  pin: NonNullable<MarketSource['pin']>,
): MarketSource {
  return {
    label: new URL(url).host,
    ...{ refreshMs, pin, place: `${url} ${sha256 ?? ''}` },
    async page(_at, signal) {
      const headers = { accept: 'application/json' }
      const answer = await fetch(url, { method: 'GET', headers, signal })
      if (answer.status !== 200) {
        answer.cancel()
        throw new HubError('upstream_http_error', `The catalogue’s server answered ${answer.status}`)
      }
      const list = new Items()
      const digest = await readAll(answer, list, signal)
      if (sha256 !== undefined && digest !== sha256.toLowerCase())
        throw new HubError('template_integrity', 'The catalogue has another SHA-256 than was configured', {
          own: ERRORS.template_integrity,
        })
      return { templates: list.templates, entries: list.entries }
    },
  }
}

/** Passes the whole body on in pieces; its SHA-256. */
function readAll(answer: GuardedResponse, list: Items, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  let characters = 0
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      answer.cancel()
      reject(error)
    }
    signal.addEventListener('abort', () => fail(signal.reason), { once: true })
    answer.stream({
      chunk(text) {
        try {
          characters += text.length
          if (characters > MOST_CHARACTERS)
            throw new HubError('result_too_large', 'The catalogue is larger than 32 MiB', {
              data: { maxBytes: MOST_CHARACTERS },
            })
          hash.update(text, 'utf8')
          list.write(text)
        } catch (error) {
          fail(error instanceof SyntaxError ? new HubError('upstream_protocol', error.message) : error)
        }
      },
      done(error) {
        try {
          if (error) throw error
          list.end()
          resolve(hash.digest('hex'))
        } catch (cause) {
          reject(cause instanceof SyntaxError ? new HubError('upstream_protocol', cause.message) : cause)
        }
      },
    })
  })
}

/** The items of a document, by their form. */
class Items {
  readonly templates: MarketTemplate[] = []
  readonly entries: JsonValue[] = []
  readonly #reader = new JsonItems(ITEM_CHARACTERS, item => this.#take(item))
  #count = 0

  write(text: string): void {
    this.#reader.write(text)
  }

  end(): void {
    this.#reader.end()
  }

  #take({ key = '', text }: JsonItem): void {
    this.#count += 1
    if (this.#count > MOST_ITEMS) throw new SyntaxError(`The catalogue has more than ${MOST_ITEMS} entries`)
    const item: unknown = JSON.parse(text)
    if (!isJsonObject(item)) return
    if (isJsonObject(item.installations)) {
      const template = hubEntryTemplate(key, item)
      if (template) this.templates.push(template)
    } else if (Array.isArray(item.variants)) this.templates.push(item as unknown as MarketTemplate)
    else this.entries.push(item)
  }
}
