import { type GuardedFetch, HubError, isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import type { MarketSource } from 'patchbay/plugins/market'

const DAY_MS = 24 * 3_600_000
const PAGE_SIZE = 100
/** Bytes of one page: 100 entries of at most 64 KiB, plus a margin. */
const MOST_BYTES = 8 * 1024 * 1024
/** Characters of all pages of one walk. */
const MOST_CHARACTERS = 200 * 1024 * 1024
/** Longest pause that a registry's Retry-After is given before the walk fails. */
const LONGEST_PAUSE_S = 20
const TRIES = 3

/** A registry as a source: all its latest entries, or those that changed, page by page. */
export function registrySource(address: string, fetch: GuardedFetch): MarketSource {
  const base = address.replace(/\/+$/, '')
  let characters = 0
  return {
    label: new URL(address).host,
    refreshMs: DAY_MS,
    origin: 'registry',
    place: address,
    incremental: true,
    async page({ cursor, since }, signal) {
      const query = new URLSearchParams({ limit: String(PAGE_SIZE), version: 'latest' })
      if (since !== undefined) {
        query.set('updated_since', since)
        query.set('include_deleted', 'true')
      }
      if (cursor !== undefined) query.set('cursor', cursor)
      const text = await read(`${base}/v0.1/servers?${query}`, fetch, signal)
      characters = (cursor === undefined ? 0 : characters) + text.length
      if (characters > MOST_CHARACTERS) throw new HubError('upstream_protocol', 'The list is larger than 200 MiB')
      const { servers, metadata } = parsed(text)
      if (!Array.isArray(servers)) throw new HubError('upstream_protocol', 'The registry answered without "servers"')
      const next = cursorOf(metadata)
      return { entries: servers, ...(next === undefined ? {} : { next }) }
    },
  }
}

/** Undefined at the end of the list, which is marked by null, an empty cursor or a missing one. */
function cursorOf(metadata: JsonValue | undefined): string | undefined {
  const { nextCursor: next = null } = isJsonObject(metadata) ? metadata : {}
  if (next === null || next === '') return undefined
  if (typeof next === 'string') return next
  throw new HubError('upstream_protocol', 'The registry answered with a cursor that is no text')
}

function parsed(text: string): JsonObject {
  const body = JSON.parse(text) as JsonValue
  if (isJsonObject(body)) return body
  throw new HubError('upstream_protocol', 'The registry answered no JSON object')
}

async function read(url: string, fetch: GuardedFetch, signal: AbortSignal): Promise<string> {
  for (let tried = 1; ; tried += 1) {
    const headers = { accept: 'application/json' }
    const answer = await fetch(url, { method: 'GET', headers, signal, maxBytes: MOST_BYTES })
    if (answer.status === 200) return answer.text()
    answer.cancel()
    const pauseS = Number(answer.headers['retry-after'])
    const isBusy = answer.status === 429 || answer.status === 503
    if (!isBusy || tried >= TRIES || !(pauseS >= 0 && pauseS <= LONGEST_PAUSE_S))
      throw new HubError('upstream_http_error', `The registry answered ${answer.status}`)
    await new Promise(resolve => setTimeout(resolve, Math.max(1, pauseS) * 1_000))
    signal.throwIfAborted()
  }
}
