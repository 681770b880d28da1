import { LIMITS } from '../../../config/limits.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { cutShort } from '../../../domain/cut-short.ts'
import { isRawNumber, parseExact } from '../../../domain/json/exact-json.ts'
import { isDeeperThan } from '../../../domain/json/json-depth.ts'
import { splitObjects } from '../embedded-json.ts'
import { members } from '../members.ts'

/** The part that all responses have. */
interface Versioned {
  /** True when the message lacks `"jsonrpc": "2.0"`. */
  readonly isUnversioned?: boolean
}

/** A result as received. `text` is its JSON as written, without raw line ends. */
export interface IncomingResult extends Versioned {
  readonly kind: 'result'
  readonly id: JsonValue
  readonly text: string
  readonly value: JsonValue
}

/** One received message by kind; `bad` is not valid JSON-RPC. */
export type Incoming =
  | IncomingResult
  | IncomingError
  | {
      readonly kind: 'request'
      readonly id: JsonValue
      readonly method: string
      readonly params: JsonObject | undefined
    }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject | undefined }
  | BadIncoming

/** An error as received, or in the form that JSON-RPC gives it. */
interface IncomingError extends Versioned {
  readonly kind: 'error'
  readonly id: JsonValue
  readonly text: string
  /** True when the server wrote it in another form. */
  readonly isRepaired?: boolean
}

type IncomingResponse = Extract<Incoming, { kind: 'result' | 'error' | 'bad' }>

/** `id` is set when the invalid message can be matched to a request. */
interface BadIncoming extends Versioned {
  readonly kind: 'bad'
  readonly id?: number
  readonly detail: string
  /** The text, where it is no JSON-RPC at all, such as a log line. */
  readonly stray?: string
}

/** JSON-RPC's code for an error that has none of its own. */
const INTERNAL_ERROR = -32603
const MOST_SAID = 1_000
const NOT_JSON = 'a line that is not JSON'
const BRACE_CLOSE = '}'.charCodeAt(0)
const HEAD = '{"jsonrpc":"2.0","id":'
const RESULT_AFTER_ID = ',"result":'
const RESULT_FIRST = '{"result":'
const ID_LAST = ',"jsonrpc":"2.0","id":'

/**
 * Finds the result in the two layouts that servers write, `{"jsonrpc":"2.0","id":7,"result":X}` and
 * `{"result":X,"jsonrpc":"2.0","id":7}`, without building the outer object. X is parsed, which proves that exactly one
 * JSON value lies between head and tail, so that nothing can hide there. Undefined for every other text.
 */
export function readPlainResult(text: string): (IncomingResult & { readonly id: number }) | undefined {
  if (text.charCodeAt(text.length - 1) !== BRACE_CLOSE) return undefined
  const layout = text.startsWith(HEAD) ? resultLast(text) : resultFirst(text)
  if (!layout) return undefined
  const inner = text.slice(layout.from, layout.to)
  try {
    return { kind: 'result', id: layout.id, text: withoutLineEnds(inner), value: JSON.parse(inner) as JsonValue }
  } catch {
    return undefined
  }
}

/** The bounds of the result in the text, and the id beside it. */
interface Layout {
  readonly id: number
  readonly from: number
  readonly to: number
}

/** The text begins with HEAD. */
function resultLast(text: string): Layout | undefined {
  let at = HEAD.length
  while (isDigit(text.charCodeAt(at))) at += 1
  if (at === HEAD.length || !text.startsWith(RESULT_AFTER_ID, at)) return undefined
  return { id: Number(text.slice(HEAD.length, at)), from: at + RESULT_AFTER_ID.length, to: text.length - 1 }
}

function resultFirst(text: string): Layout | undefined {
  if (!text.startsWith(RESULT_FIRST)) return undefined
  const end = text.length - 1
  let at = end
  while (isDigit(text.charCodeAt(at - 1))) at -= 1
  const to = at - ID_LAST.length
  if (at === end || !text.startsWith(ID_LAST, to)) return undefined
  return { id: Number(text.slice(at, end)), from: RESULT_FIRST.length, to }
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

/**
 * Rejects a text that is nested too deep; undefined for all others. Call it before the text is parsed: parts of a
 * message are serialized again, which at such a depth overflows the stack of the whole worker.
 */
export function refuseDeep(text: string): BadIncoming | undefined {
  const levels = LIMITS.upstreamJsonDepth
  if (!isDeeperThan(text, levels)) return undefined
  return { kind: 'bad', detail: `a message nested more than ${levels} levels deep`, ...idOfInvalid(text) }
}

/** All messages of a text: one, or those of an array (allowed up to 2025-03-26). */
export function readMessages(text: string): readonly Incoming[] {
  const plain = readPlainResult(text)
  if (plain) return [plain]
  if (!/^\s*[[{]/.test(text)) return readBehind(text)
  const whole = parsedMessages(text)
  if (whole) return whole
  const { id } = idOfInvalid(text)
  const read = readBehind(text)
  return id === undefined || read.some(({ kind }) => kind !== 'bad') ? read : [{ kind: 'bad', detail: NOT_JSON, id }]
}

/** Undefined if the text is not JSON. */
function parsedMessages(text: string): readonly Incoming[] | undefined {
  let value: JsonValue
  try {
    value = parseExact(text)
  } catch {
    return undefined
  }
  if (Array.isArray(value)) return value.map(item => classify(item, JSON.stringify(item)))
  return [classify(value, text)]
}

/**
 * Reads the messages in a text with other parts, such as progress without a line end, or the colours of a terminal around a
 * message. Without a message, the whole is a stray line.
 */
function readBehind(text: string): readonly Incoming[] {
  const stray = (part: string): BadIncoming => ({ kind: 'bad', detail: NOT_JSON, stray: part })
  const parts = splitObjects(text)
  let isAny = false
  const read = parts.map((part, at): Incoming => {
    const message = part.isObject ? parsedMessages(part.text)?.[0] : undefined
    if (!message || !isEmbedded(message, at === parts.length - 1)) return stray(part.text)
    isAny = true
    return message
  })
  return isAny ? read : [stray(text)]
}

/** True for a message that counts although its text has other parts. */
function isEmbedded(message: Incoming, isLast: boolean): boolean {
  // A log line that repeats a request of the hub often continues behind it.
  if (message.kind === 'request') return isLast
  if (message.kind === 'bad') return message.id !== undefined
  return message.kind === 'notification' || message.isUnversioned !== true
}

function classify(value: JsonValue, text: string): Incoming {
  if (!isJsonObject(value)) return { kind: 'bad', detail: 'JSON that is not an object', stray: text }
  const { method } = value
  const id = method === undefined ? answeredId(value.id) : value.id
  if (value.jsonrpc !== '2.0') {
    // A log line may have an id too.
    const answers = typeof id === 'number' && (value.result !== undefined || value.error !== undefined)
    if (!answers) return { kind: 'bad', detail: 'a message without "jsonrpc": "2.0"', stray: text }
    const response = classifyResponse(id, value, text)
    // A log line may have an error in any form.
    if (response.kind === 'error' && response.isRepaired) return { kind: 'bad', detail: oddError(value.error), id }
    return { ...response, isUnversioned: true }
  }
  if (typeof method === 'string') return classifyMethod(method, id, value.params, text)
  if (id === undefined) return { kind: 'bad', detail: 'a message with neither method nor id' }
  return classifyResponse(id, value, text)
}

/** A request or a notification. */
function classifyMethod(
  method: string,
  id: JsonValue | undefined,
  given: JsonValue | undefined,
  text: string,
): Incoming {
  const params = isJsonObject(given) ? given : undefined
  if (id === undefined) {
    const most = LIMITS.upstreamNoticeBytes
    if (text.length > most) return { kind: 'bad', detail: `a notification of more than ${most} characters` }
    return { kind: 'notification', method, params }
  }
  if (typeof id === 'string' || typeof id === 'number' || isRawNumber(id))
    return { kind: 'request', id, method, params }
  return { kind: 'bad', detail: `a request "${cutShort(method, 80)}" whose id is neither text nor number` }
}

function classifyResponse(id: JsonValue, value: JsonObject, text: string): IncomingResponse {
  const broken = typeof id === 'number' ? { id } : {}
  // Many libraries write the absent member as null.
  if (value.result !== undefined && (value.error === undefined || value.error === null)) {
    return { kind: 'result', id, text: memberText(text, 'result'), value: value.result }
  }
  if (value.error === undefined || (value.result !== undefined && value.result !== null)) {
    return { kind: 'bad', detail: 'an answer that has not exactly one of result and error', ...broken }
  }
  if (isJsonObject(value.error) && Number.isSafeInteger(value.error.code) && typeof value.error.message === 'string') {
    return { kind: 'error', id, text: memberText(text, 'error') }
  }
  const repaired = repairedError(value.error)
  if (repaired) return { kind: 'error', id, text: JSON.stringify(repaired), isRepaired: true }
  return { kind: 'bad', detail: oddError(value.error), ...broken }
}

function oddError(error: JsonValue | undefined): string {
  const shown = cutShort(JSON.stringify(error) ?? '', 200)
  return `an error without a whole number as "code" and a text as "message": ${shown}`
}

/** An error that servers write as a text, or with a code that is a text or missing; undefined where nothing is said. */
function repairedError(error: JsonValue): JsonObject | undefined {
  if (typeof error === 'string' && error !== '') return { code: INTERNAL_ERROR, message: error }
  if (!isJsonObject(error)) return undefined
  const { code, message } = error
  const number = typeof code === 'string' && /^-?\d{1,9}$/.test(code) ? Number(code) : code
  const said = typeof message === 'string' ? message : cutShort(JSON.stringify(message ?? error), MOST_SAID)
  return { ...error, code: Number.isSafeInteger(number) ? (number as number) : INTERNAL_ERROR, message: said }
}

/** The hub's ids are numbers; some servers return them as strings, which clients usually accept. */
function answeredId(id: JsonValue | undefined): JsonValue | undefined {
  return typeof id === 'string' && /^(?:0|[1-9]\d{0,14})$/.test(id) ? Number(id) : id
}

/** Only for a text that looks like a message: a truncated log line may have an id too. */
function idOfInvalid(text: string): { readonly id?: number } {
  const head = text.slice(0, 256)
  const tail = text.slice(-256)
  if (!head.includes('"jsonrpc"') && !tail.includes('"jsonrpc"')) return {}
  const match = /"id"\s*:\s*(\d{1,15})/.exec(head) ?? /"id"\s*:\s*(\d{1,15})\s*\}\s*$/.exec(tail)
  return match?.[1] ? { id: Number(match[1]) } : {}
}

/**
 * The text of one member of the outermost object, as written: numbers beyond 2^53 and the order of keys survive, which
 * parsing and serializing would lose. `json` must be a valid JSON object that has the member; of duplicates the last
 * counts, as in JSON.parse.
 */
export function memberText(json: string, name: string): string {
  const found = members(json).findLast(({ key }) => key === name)
  return withoutLineEnds(found ? json.slice(found.valueFrom, found.to).trim() : '')
}

/** In valid JSON a raw line end is white space between tokens, never part of one. */
function withoutLineEnds(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replace(/[\r\n]+/g, ' ') : json
}

/** True when each request has a stream of its own and this response is on another request's stream. */
export function isElsewhere(id: JsonValue | undefined, related: number | undefined): boolean {
  return related !== undefined && id !== undefined && id !== related
}
