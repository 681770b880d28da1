import type { JsonObject } from 'patchbay/contract'
import { cutCharacters } from './text.ts'

/** Longest description, in characters. */
const DESCRIPTION = 1_024
/** Most bytes of one page of tools, so that its frame stays below 50 KB. */
const PAGE_BYTES = 48 * 1024

/** The tools that an assistant gets. */
export interface Offered {
  readonly names: readonly string[]
  /** Names of those that it does not get. */
  readonly leftOut: readonly string[]
  /** JSON of the tools on each page. */
  readonly pages: readonly string[]
}

/** The first tools of a group in its order, each as short as assistants take them. */
export function offer(tools: readonly JsonObject[], most: number): Offered {
  const names: string[] = []
  const leftOut: string[] = []
  const pages: string[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const { name, description, inputSchema } of tools) {
    if (typeof name !== 'string') continue
    const text = JSON.stringify({
      name,
      ...(typeof description === 'string' ? { description: cutCharacters(description, DESCRIPTION) } : {}),
      inputSchema: inputSchema ?? { type: 'object' },
    })
    const size = Buffer.byteLength(text)
    if (names.length >= most || size > PAGE_BYTES) {
      leftOut.push(name)
      continue
    }
    if (bytes + size > PAGE_BYTES) {
      pages.push([])
      bytes = 0
    }
    names.push(name)
    pages.at(-1)?.push(text)
    bytes += size + 1
  }
  return { names, leftOut, pages: pages.map(page => `[${page.join(',')}]`) }
}

/** True when an assistant would see the same tools. */
export function sameOffer(one: Offered, other: Offered): boolean {
  return one.pages.length === other.pages.length && one.pages.every((page, at) => page === other.pages[at])
}

/** JSON of a result of tools/list; undefined for a cursor that it did not give. */
export function listPage({ pages }: Offered, cursor: unknown): string | undefined {
  const at =
    cursor === undefined ? 0 : typeof cursor === 'string' && /^[1-9]\d{0,3}$/.test(cursor) ? Number(cursor) : -1
  if (at < 0 || (at > 0 && at >= pages.length)) return undefined
  const next = at + 1 < pages.length ? `,"nextCursor":"${at + 1}"` : ''
  return `{"tools":${pages[at] ?? '[]'}${next}}`
}
