import { createHash } from 'node:crypto'
import type { ScopeTool, ScopeView } from 'patchbay/features'
import { SharedCache } from 'patchbay/transport-kit'
import { bestOf, rank } from './rank.ts'
import { type ToolDocument, toolDocument } from './tool-document.ts'
import type { Words } from './words.ts'

/** Longest piece of work without a pause, in milliseconds. */
const SLICE_MS = 5
/** Words of tools that are kept for all callers together: 8 bytes each. */
const MOST_WORDS = 4_000_000
/** Tools in the views of all callers that are kept. */
const MOST_VIEWED = 100_000

interface View {
  readonly tools: readonly ScopeTool[]
  readonly documents: readonly ToolDocument[]
}

/**
 * The words of the tools that callers see. Those of one tool are stored once for all users with the same texts, and stay as long
 * as one of them has room for it: the user with the most in the index loses first. Rare and common words are determined for each
 * caller from the caller's own tools.
 */
export class ToolIndex {
  readonly #words: Words
  readonly #now: () => number
  /** Documents by a hash of the tool's texts. */
  readonly #documents = new SharedCache<string, ToolDocument>({
    maxSize: MOST_WORDS,
    sizeOf: ({ words }) => Math.max(1, words.length),
  })
  readonly #views = new SharedCache<string, View>({
    maxSize: MOST_VIEWED,
    sizeOf: ({ tools }) => Math.max(1, tools.length),
  })
  readonly #building = new Map<string, { readonly tools: readonly ScopeTool[]; readonly done: Promise<View> }>()

  constructor(words: Words, now: () => number) {
    this.#words = words
    this.#now = now
  }

  /** The tools that match a query, best first. `of`: those that may be returned; default all. */
  async search(
    { key, tools, actor }: Pick<ScopeView, 'key' | 'tools'> & { readonly actor?: { readonly userId: string } },
    query: string,
    of?: (tool: ScopeTool) => boolean,
  ): Promise<readonly ScopeTool[]> {
    const { documents } = await this.#view(key, tools, actor?.userId ?? '')
    const scores = rank(documents, this.#words.ofQuery(query))
    const fitting = of ? new Map([...scores].filter(([at]) => isIn(tools[at], of))) : scores
    return bestOf(fitting, fitting.size).flatMap(at => tools[at] ?? [])
  }

  async #view(key: string, tools: readonly ScopeTool[], userId: string): Promise<View> {
    const known = this.#views.get(userId, key)
    if (known?.tools === tools) return known
    const running = this.#building.get(key)
    if (running?.tools === tools) return running.done
    const done = this.#build(tools, userId)
    this.#building.set(key, { tools, done })
    try {
      const view = await done
      this.#views.set(userId, key, view)
      return view
    } finally {
      if (this.#building.get(key)?.done === done) this.#building.delete(key)
    }
  }

  async #build(tools: readonly ScopeTool[], userId: string): Promise<View> {
    const documents: ToolDocument[] = []
    let since = this.#now()
    for (const tool of tools) {
      documents.push(this.#document(tool, userId))
      if (this.#now() - since < SLICE_MS) continue
      await new Promise(resolve => setTimeout(resolve, 0))
      since = this.#now()
    }
    return { tools, documents }
  }

  #document({ name, server, definition }: ScopeTool, userId: string): ToolDocument {
    const text = { name, server, definition: definition() }
    const key = createHash('sha256').update(JSON.stringify(text)).digest('base64')
    const known = this.#documents.get(userId, key)
    const document = known ?? toolDocument(text, this.#words)
    if (!known) this.#documents.set(userId, key, document)
    return document
  }
}

function isIn(tool: ScopeTool | undefined, of: (tool: ScopeTool) => boolean): boolean {
  return tool !== undefined && of(tool)
}
