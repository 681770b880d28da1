import { HubError } from '../../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { members, valueEnd } from '../members.ts'
import { RawResult } from '../own-requests.ts'

/** A longer list result is split as text, and its items are parsed one by one. */
export const RAW_CHARACTERS = 64 * 1024
/** Limit of the members beside the list, such as the next cursor. */
const REST_CHARACTERS = 64 * 1024

/** One page of a list. */
export interface ListPage {
  /** The result without the list. */
  readonly rest: JsonObject
  /** Each item: its value, or its text if it is not parsed yet. */
  readonly items: Iterable<JsonValue | RawResult>
}

/** Reads one list result. Throws `upstream_protocol` with what is wrong with it. */
export function listPage(result: JsonValue | RawResult, member: string): ListPage {
  if (!(result instanceof RawResult)) {
    // Some servers answer with the list alone, or with null for an empty one.
    if (Array.isArray(result)) return { rest: {}, items: result }
    const items = isJsonObject(result) ? (result[member] ?? (member in result ? [] : undefined)) : undefined
    if (!isJsonObject(result) || !Array.isArray(items)) throw noList(member)
    return { rest: result, items }
  }
  const { text } = result
  const all = members(text)
  const list = all.findLast(({ key }) => key === member)
  if (!list || !/^\s*\[/.test(text.slice(list.valueFrom, list.valueFrom + 64))) throw noList(member)
  const rest = all.filter(({ key }) => key !== member).map(({ from, to }) => text.slice(from, to))
  if (rest.reduce((sum, each) => sum + each.length, 0) > REST_CHARACTERS)
    throw new HubError('upstream_protocol', `The answer has more than ${REST_CHARACTERS} characters beside its list`)
  return {
    rest: JSON.parse(`{${rest.join(',')}}`) as JsonObject,
    items: elements(text, text.indexOf('[', list.valueFrom) + 1),
  }
}

function noList(member: string): HubError {
  return new HubError('upstream_protocol', `The answer has no list "${member}", though the server says that it has one`)
}

/** The elements of the array whose first character is at `from`, each as its text. The text must be valid JSON. */
function* elements(text: string, from: number): Generator<RawResult> {
  let start = from
  for (;;) {
    const end = valueEnd(text, start)
    if (end === text.length) return
    const element = text.slice(start, end).trim()
    const isLast = text[end] !== ','
    // Only an empty list has an empty element.
    if (element !== '' || !isLast) yield new RawResult(element)
    if (isLast) return
    start = end + 1
  }
}

/** A large result in a response that is not parsed as a whole, `text` being its JSON; undefined for other messages. */
export function findLargeResult(text: string): { readonly id: number; readonly text: string } | undefined {
  if (text.length < RAW_CHARACTERS || text.charCodeAt(0) !== 0x7b) return undefined
  try {
    const all = members(text)
    const memberOf = (name: string): string | undefined => {
      const found = all.findLast(({ key }) => key === name)
      return found && text.slice(found.valueFrom, found.to).trim()
    }
    const id = Number(memberOf('id') ?? Number.NaN)
    const result = memberOf('result')
    const whole = all.at(-1)?.to === text.trimEnd().length - 1
    if (!whole || !Number.isSafeInteger(id) || !result?.startsWith('{') || memberOf('jsonrpc') !== '"2.0"')
      return undefined
    return memberOf('method') === undefined && memberOf('error') === undefined ? { id, text: result } : undefined
  } catch {
    // A key that is not valid JSON: handled like any other text.
    return undefined
  }
}
