import { LIMITS } from '../../config/limits.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { type CacheHint, cacheHint, narrower } from '../../domain/cache-hint.ts'
import type { CatalogTexts, ListKind } from '../protocol.ts'
import { readItem } from './list-items.ts'
import { isRpcError } from './own-requests.ts'

/** Bytes of all items of one kind; without it, 5,000 items of the largest size would be more than a gigabyte. */
const KIND_BYTES = 16 * 1024 * 1024

const METHODS = {
  tools: { method: 'tools/list', member: 'tools', capability: 'tools' },
  prompts: { method: 'prompts/list', member: 'prompts', capability: 'prompts' },
  resources: { method: 'resources/list', member: 'resources', capability: 'resources' },
  resourceTemplates: { method: 'resources/templates/list', member: 'resourceTemplates', capability: 'resources' },
} as const satisfies Record<ListKind, { method: string; member: string; capability: string }>

/** So many items that are left out are named. */
const TOLD = 20

/** What an era wants of the lists besides their items. */
export interface ListWish {
  /** Why an item must be left out; undefined: it is fit for use. */
  readonly objection: (kind: ListKind, item: JsonObject) => string | undefined
  /** Keep what the answers say about caching. */
  readonly caching: boolean
}

export type Ask = (method: string, params: JsonObject | undefined) => Promise<JsonValue>

/**
 * Reads the lists that the upstream's capabilities promise, every page of each. What is beyond a limit is left out and
 * named in `warnings`. A kind that fails is null, so that the lists known before stay.
 */
export async function readCatalog(
  ask: Ask,
  capabilities: JsonObject,
  kinds: readonly ListKind[],
  wish?: ListWish,
): Promise<CatalogTexts> {
  const warnings: string[] = []
  const caching: Partial<Record<ListKind, CacheHint>> = {}
  const read = async (kind: ListKind): Promise<string | null> => {
    if (!kinds.includes(kind)) return null
    if (capabilities[METHODS[kind].capability] === undefined) return '[]'
    try {
      const { text, hint } = await readList(ask, kind, warnings, wish)
      if (wish?.caching) caching[kind] = hint
      return text
    } catch (error) {
      // Many servers with resources have no templates and say so only here.
      if (isRpcError(error, -32601)) return '[]'
      warnings.push(`${METHODS[kind].method}: ${error instanceof Error ? error.message : String(error)}`)
      return null
    }
  }
  const [tools, prompts, resources, resourceTemplates] = await Promise.all([
    read('tools'),
    read('prompts'),
    read('resources'),
    read('resourceTemplates'),
  ])
  const lists = { tools, prompts, resources, resourceTemplates, warnings }
  return wish?.caching ? { ...lists, caching } : lists
}

async function readList(
  ask: Ask,
  kind: ListKind,
  warnings: string[],
  wish: ListWish | undefined,
): Promise<{ readonly text: string; readonly hint: CacheHint }> {
  const { method, member } = METHODS[kind]
  let hint: CacheHint = { ttlMs: Number.MAX_SAFE_INTEGER, cacheScope: 'public' }
  const texts: string[] = []
  let bytes = 0
  let tooLarge = 0
  let odd = 0
  let unfit = 0
  let mended = 0
  let firstMended: string | undefined
  const listed = new Set<string>()
  let again = 0
  let cursor: string | undefined
  for (let page = 1; ; page += 1) {
    const result = await ask(method, cursor === undefined ? undefined : { cursor })
    const items = isJsonObject(result) ? result[member] : undefined
    if (!Array.isArray(items)) throw new Error(`the answer has no list "${member}"`)
    hint = narrower(hint, cacheHint(result))
    for (const raw of items) {
      const naming = kind === 'resourceTemplates' ? 'uriTemplate' : kind === 'resources' ? 'uri' : 'name'
      if (!isJsonObject(raw) || typeof raw[naming] !== 'string') {
        odd += 1
        continue
      }
      if (listed.has(raw[naming])) {
        again += 1
        continue
      }
      const found = readItem(kind, raw)
      if ('objection' in found) {
        unfit += 1
        if (unfit <= TOLD) warnings.push(`${method}: ${found.objection}`)
        continue
      }
      listed.add(raw[naming])
      const { item } = found
      if (found.mended.length > 0) {
        mended += 1
        firstMended ??= `"${raw[naming].slice(0, 128)}" in ${found.mended.join(', ')}`
      }
      const objection = wish?.objection(kind, item)
      if (objection !== undefined) {
        warnings.push(`${method}: ${objection}`)
        continue
      }
      const text = JSON.stringify(item)
      if (Buffer.byteLength(text) > LIMITS.catalogItemBytes) {
        tooLarge += 1
        continue
      }
      if (texts.length >= LIMITS.catalogItems || bytes + text.length > KIND_BYTES) {
        warnings.push(`${method}: more than ${LIMITS.catalogItems} items or ${KIND_BYTES} bytes; the rest is left out`)
        return finish()
      }
      texts.push(text)
      bytes += text.length
    }
    const next = isJsonObject(result) ? result.nextCursor : undefined
    if (typeof next !== 'string' || next === '') return finish()
    if (next === cursor) {
      warnings.push(`${method}: the server names the same next page again and again; what was read so far counts`)
      return finish()
    }
    if (page >= LIMITS.catalogPages) {
      warnings.push(`${method}: more than ${LIMITS.catalogPages} pages; the rest is left out`)
      return finish()
    }
    cursor = next
  }

  function finish(): { text: string; hint: CacheHint } {
    if (tooLarge > 0) warnings.push(`${method}: ${tooLarge} items over ${LIMITS.catalogItemBytes} bytes are left out`)
    if (unfit > TOLD) warnings.push(`${method}: ${unfit - TOLD} further items are left out in the same way`)
    if (mended > 0) {
      warnings.push(
        `${method}: ${mended} items that MCP does not know in this form are mended, the first ${firstMended}`,
      )
    }
    if (again > 0) warnings.push(`${method}: ${again} items are listed more than once; the first of each counts`)
    if (odd > 0) warnings.push(`${method}: ${odd} items without a name or address are left out`)
    return { text: `[${texts.join(',')}]`, hint }
  }
}
