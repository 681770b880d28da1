import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { canonical } from '../domain/json/canonical-json.ts'
import { pauses } from '../store/pauses.ts'

/** Sections, the things in them, and the members of each are taken one by one. */
const DEPTH = 3

/** SHA-256 of the canonical text of an export, made in turns: what a user owns may be 64 MiB of it. */
export async function exportHash(content: JsonObject): Promise<string> {
  const hash = createHash('sha256')
  const pause = pauses()
  const add = async (value: JsonValue, depth: number): Promise<void> => {
    if (depth === 0 || !isJsonObject(value)) {
      hash.update(canonical(value))
      return pause()
    }
    for (const [index, name] of Object.keys(value).sort().entries()) {
      hash.update(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`)
      await add(value[name] ?? null, depth - 1)
    }
    hash.update(Object.keys(value).length === 0 ? '{}' : '}')
  }
  await add(content, DEPTH)
  return hash.digest('hex')
}
