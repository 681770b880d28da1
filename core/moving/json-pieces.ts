import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { canonical } from '../domain/json/canonical-json.ts'
import { LongText } from '../domain/json/long-text.ts'
import { pauses } from '../store/pauses.ts'

/** Limits above which a value is written member by member. */
const LIGHT = { values: 2_000, characters: 64 * 1024 }
/** Shorter pieces are joined to parts of about this length, in characters. */
const PART_CHARACTERS = 256 * 1024
/**
 * Longer strings are written in slices: an OpenAPI document is one string of up to 16 MiB, whose text would block the thread
 * for 100 ms.
 */
const SLICE_CHARACTERS = 64 * 1024

/** SHA-256 of the canonical text of an export, computed in turns: one user may own 64 MiB of it. */
export async function exportHash(content: JsonObject): Promise<string> {
  const hash = createHash('sha256')
  await eachPiece(content, { names: value => Object.keys(value).sort(), text: canonical }, piece => hash.update(piece))
  return hash.digest('hex')
}

/** A large object as JSON text, made in turns. `pause` is awaited after each small piece of it. */
export async function jsonParts(content: JsonObject, pause = pauses()): Promise<LongText> {
  const parts: Buffer<ArrayBuffer>[] = []
  let open: string[] = []
  let characters = 0
  const close = (): void => {
    parts.push(Buffer.from(open.join('')))
    open = []
    characters = 0
  }
  const take = (piece: string): void => {
    open.push(piece)
    characters += piece.length
    if (characters >= PART_CHARACTERS) close()
  }
  await eachPiece(content, { names: Object.keys, text: JSON.stringify }, take, pause)
  close()
  return new LongText(parts)
}

/** The order of members, and the text of small values, which are not split. */
interface JsonForm {
  names(value: JsonObject): readonly string[]
  text(value: JsonValue): string
}

/** Calls `take` with one piece of the text after the other, in turns. */
async function eachPiece(
  content: JsonObject,
  { names, text }: JsonForm,
  take: (piece: string) => unknown,
  pause = pauses(),
): Promise<void> {
  const add = async (value: JsonValue): Promise<unknown> => {
    if (typeof value === 'string' && value.length > SLICE_CHARACTERS) return addString(value)
    if (!isLight(value)) return Array.isArray(value) ? addArray(value) : addObject(value as JsonObject)
    take(text(value))
    return pause()
  }
  const addString = async (value: string): Promise<void> => {
    take('"')
    for (const slice of slicesOf(value)) {
      take(JSON.stringify(slice).slice(1, -1))
      await pause()
    }
    take('"')
  }
  const addArray = async (items: readonly JsonValue[]): Promise<void> => {
    for (const [index, item] of items.entries()) {
      take(index === 0 ? '[' : ',')
      await add(item)
    }
    take(']')
  }
  const addObject = async (value: JsonObject): Promise<void> => {
    for (const [index, name] of names(value).entries()) {
      take(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`)
      await add(value[name] ?? null)
    }
    take('}')
  }
  await add(content)
}

/** True when a value is small; reads no more of it than a small value has. */
function isLight(value: JsonValue): boolean {
  let { values, characters } = LIGHT
  const count = (part: JsonValue): boolean => {
    values -= 1
    if (typeof part === 'string') characters -= part.length
    if (values < 0 || characters < 0) return false
    if (Array.isArray(part)) return part.every(count)
    if (!isJsonObject(part)) return true
    for (const name in part) {
      characters -= name.length
      if (!count(part[name] ?? null)) return false
    }
    return true
  }
  return count(value)
}

/** Yields slices whose JSON texts, without quotes, join to that of the whole: no surrogate pair is split. */
function* slicesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const most = at + SLICE_CHARACTERS
    const end = isHighSurrogate(text.charCodeAt(most - 1)) && most < text.length ? most - 1 : most
    yield text.slice(at, end)
    at = end
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00
}
