import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { canonical } from '../domain/json/canonical-json.ts'
import { pauses } from '../store/pauses.ts'

/** Sections, the things in them, and the members of each are taken one by one. */
const DEPTH = 3
/** So much is put into its place between two pauses: new memory costs some milliseconds a MiB. */
const COPIED_BYTES = 256 * 1024

/** SHA-256 of the canonical text of an export, made in turns: what a user owns may be 64 MiB of it. */
export async function exportHash(content: JsonObject): Promise<string> {
  const hash = createHash('sha256')
  await eachPiece(content, { names: value => Object.keys(value).sort(), text: canonical }, piece => hash.update(piece))
  return hash.digest('hex')
}

/** The bytes of a large object as JSON, made in turns. */
export async function jsonBytes(content: JsonObject): Promise<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  const parts: Uint8Array<ArrayBuffer>[] = []
  await eachPiece(content, { names: Object.keys, text: JSON.stringify }, piece => parts.push(encoder.encode(piece)))
  const whole = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0))
  const pause = pauses()
  let at = 0
  for (const part of parts) {
    for (let from = 0; from < part.byteLength; from += COPIED_BYTES) {
      const some = part.subarray(from, from + COPIED_BYTES)
      whole.set(some, at)
      at += some.byteLength
      await pause()
    }
  }
  return whole
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
