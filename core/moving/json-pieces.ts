import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { canonical } from '../domain/json/canonical-json.ts'
import { LongText } from '../domain/json/long-text.ts'
import { pauses } from '../store/pauses.ts'

/** Sections, the things in them, and the members of each are taken one by one. */
const DEPTH = 3
/** Shorter pieces are joined to parts of about this length, in characters. */
const PART_CHARACTERS = 256 * 1024

/** SHA-256 of the canonical text of an export, made in turns: what a user owns may be 64 MiB of it. */
export async function exportHash(content: JsonObject): Promise<string> {
  const hash = createHash('sha256')
  await eachPiece(content, { names: value => Object.keys(value).sort(), text: canonical }, piece => hash.update(piece))
  return hash.digest('hex')
}

/** A large object as JSON text, made in turns. */
export async function jsonParts(content: JsonObject): Promise<LongText> {
  const parts: Buffer<ArrayBuffer>[] = []
  let open: string[] = []
  let characters = 0
  const close = (): void => {
    parts.push(Buffer.from(open.join('')))
    open = []
    characters = 0
  }
  await eachPiece(content, { names: Object.keys, text: JSON.stringify }, piece => {
    open.push(piece)
    characters += piece.length
    if (characters >= PART_CHARACTERS) close()
  })
  close()
  return new LongText(parts)
}

/** In which order members come, and the text of what is not taken apart. */
interface JsonForm {
  names(value: JsonObject): readonly string[]
  text(value: JsonValue): string
}

/** Calls `take` with one piece of the text after the other, in turns. */
async function eachPiece(
  content: JsonObject,
  { names, text }: JsonForm,
  take: (piece: string) => unknown,
): Promise<void> {
  const pause = pauses()
  const add = async (value: JsonValue, depth: number): Promise<void> => {
    if (depth === 0 || !isJsonObject(value)) {
      take(text(value))
      return pause()
    }
    const members = names(value)
    for (const [index, name] of members.entries()) {
      take(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`)
      await add(value[name] ?? null, depth - 1)
    }
    take(members.length === 0 ? '{}' : '}')
  }
  await add(content, DEPTH)
}
