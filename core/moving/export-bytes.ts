import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { pauses } from '../store/pauses.ts'

/** Members of members of members are written one by one. */
const DEPTH = 3
/** So much is put into its place between two pauses: new memory costs some milliseconds a MiB. */
const COPIED_BYTES = 256 * 1024

/** The bytes of a large object as JSON, made in turns. */
export async function jsonBytes(content: JsonObject): Promise<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  const parts: Uint8Array<ArrayBuffer>[] = []
  const pause = pauses()
  const add = async (value: JsonValue, depth: number): Promise<void> => {
    if (depth === 0 || !isJsonObject(value)) {
      parts.push(encoder.encode(JSON.stringify(value)))
      return pause()
    }
    const names = Object.keys(value)
    for (const [index, name] of names.entries()) {
      parts.push(encoder.encode(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`))
      await add(value[name] ?? null, depth - 1)
    }
    parts.push(encoder.encode(names.length === 0 ? '{}' : '}'))
  }
  await add(content, DEPTH)
  return joined(parts, pause)
}

async function joined(parts: readonly Uint8Array[], pause: () => Promise<void>): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0))
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
