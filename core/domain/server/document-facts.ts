import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { valueAt } from '../json/json-pointer.ts'
import { documentOrigins, type StoredDocument } from './openapi.ts'

/** What was found out about an inline OpenAPI document where it was parsed, so that its text need not be parsed again. */
export interface DocumentFacts extends StoredDocument {
  /** Of the `openapi` block that holds the document. */
  readonly pointer: string
}

/** No client can write a member of this name. */
const FACTS = Symbol('facts of the inline document')

type Block = JsonObject & { readonly [FACTS]?: StoredDocument }

/** `text`: the JSON of `document`. Takes time with its size: call it where it holds up nobody. */
export function documentFacts(document: JsonObject, text: string, pointer: string): DocumentFacts {
  const sha256 = createHash('sha256').update(text).digest('hex')
  return { pointer, sha256, bytes: Buffer.byteLength(text), servers: documentOrigins(document) ?? [] }
}

/** Notes the facts at their `openapi` blocks of a body; members of JSON stay as they are. */
export function attachFacts(body: JsonObject, facts: readonly DocumentFacts[]): void {
  for (const { pointer, ...known } of facts) {
    const block = valueAt(body, pointer)
    if (isJsonObject(block)) note(block, known)
  }
}

/** Not enumerable: a copy of the block may hold another document. */
function note(block: JsonObject, known: StoredDocument): void {
  Object.defineProperty(block, FACTS, { value: known, configurable: true })
}

function factsAt(block: JsonValue | undefined): StoredDocument | undefined {
  return isJsonObject(block) ? (block as Block)[FACTS] : undefined
}

/** The facts noted in the body of a server, flat or nested. */
export function factsIn({ openapi, config }: JsonObject): StoredDocument | undefined {
  return factsAt(openapi) ?? (isJsonObject(config) ? factsAt(config.openapi) : undefined)
}

/** A copy of the flat body `to` with the facts noted in `from`, of which `to` was made and has the document. */
export function withFactsOf(to: JsonObject, from: JsonObject): JsonObject {
  const known = factsIn(from)
  if (!known || !isJsonObject(to.openapi)) return to
  const openapi = { ...to.openapi }
  note(openapi, known)
  return { ...to, openapi }
}
