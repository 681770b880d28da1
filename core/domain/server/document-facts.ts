import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { valueAt } from '../json/json-pointer.ts'
import { documentOrigins, type StoredDocument } from './openapi.ts'

/** Facts about an inline OpenAPI document from the thread that parsed it, so that it need not be parsed again. */
export interface DocumentFacts extends StoredDocument {
  /** Pointer of the `openapi` block with the document. */
  readonly pointer: string
}

/** A symbol, so that no client can set this member. */
const FACTS = Symbol('facts of the inline document')

type Block = JsonObject & { readonly [FACTS]?: StoredDocument }

/** `text`: the JSON of `document`. Takes time proportional to its size: call it in a worker. */
export function documentFacts(document: JsonObject, text: string, pointer: string): DocumentFacts {
  const sha256 = createHash('sha256').update(text).digest('hex')
  return { pointer, sha256, bytes: Buffer.byteLength(text), servers: documentOrigins(document) ?? [] }
}

/** Attaches the facts to the `openapi` blocks of a body, without changing its JSON. */
export function attachFacts(body: JsonObject, facts: readonly DocumentFacts[]): void {
  for (const { pointer, ...known } of facts) {
    const block = valueAt(body, pointer)
    if (isJsonObject(block)) note(block, known)
  }
}

/** Not enumerable, since a copy of the block may get another document. */
function note(block: JsonObject, known: StoredDocument): void {
  Object.defineProperty(block, FACTS, { value: known, configurable: true })
}

function factsAt(block: JsonValue | undefined): StoredDocument | undefined {
  return isJsonObject(block) ? (block as Block)[FACTS] : undefined
}

/** The facts attached to a server's body, flat or nested. */
export function factsIn({ openapi, config }: JsonObject): StoredDocument | undefined {
  return factsAt(openapi) ?? (isJsonObject(config) ? factsAt(config.openapi) : undefined)
}

/** Copies the facts of `from` to a copy of the flat body `to`, which has the same document. */
export function withFactsOf(to: JsonObject, from: JsonObject): JsonObject {
  const known = factsIn(from)
  if (!known || !isJsonObject(to.openapi)) return to
  const openapi = { ...to.openapi }
  note(openapi, known)
  return { ...to, openapi }
}
