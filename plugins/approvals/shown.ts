import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import { visibleText } from 'patchbay/plugin-kit'

/** Most characters of arguments that are shown. */
const MOST = 8 * 1_024
const MOST_TEXT = 2_000
const SECRET = /pass(?:word|phrase)?$|secret|token|api[-_]?key|authorization|credential|private[-_]?key/i
const MASK = '••••'

/** Arguments as the one who decides sees them: without what looks like a secret, and at most 8 KiB of them. */
export function shownArguments(given: JsonObject): JsonObject {
  const shown = masked(given) as JsonObject
  const text = JSON.stringify(shown)
  return text.length <= MOST ? shown : { '…': `${text.slice(0, MOST - 64)}… (${text.length} characters)` }
}

function masked(value: JsonValue): JsonValue {
  if (typeof value === 'string') {
    const text = visibleText(value)
    return text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)}… (${text.length} characters)`
  }
  if (Array.isArray(value)) return value.map(masked)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      visibleText(name),
      SECRET.test(name) && typeof one === 'string' ? MASK : masked(one),
    ]),
  )
}
