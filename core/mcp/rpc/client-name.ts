import type { JsonValue } from '../../contract/json.ts'
import { cutShort } from '../../domain/cut-short.ts'
import { visibleName } from '../../domain/text/visible-text.ts'
import { isPlainObject } from './rpc.ts'

/** Longest name and version that are shown, in UTF-16 code units. */
const LONGEST = 64

/** The name in a client's `clientInfo`, hidden characters shown, cut short; empty where it has none. */
export function clientNameOf(info: JsonValue | undefined): string {
  const name = isPlainObject(info) ? info.name : undefined
  return typeof name === 'string' ? shown(name) : ''
}

/** The version in a client's `clientInfo`, cut short; undefined where it has none. */
export function clientVersionOf(info: JsonValue | undefined): string | undefined {
  const version = isPlainObject(info) ? info.version : undefined
  return typeof version === 'string' ? shown(version) : undefined
}

/** Cut before it is searched too: a client may send megabytes. */
function shown(text: string): string {
  return cutShort(visibleName(text.slice(0, LONGEST + 1)), LONGEST)
}
