import { randomBytes } from 'node:crypto'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { MODERN_VERSION } from '../../domain/era.ts'
import type { Envelope } from './envelope.ts'
import { type IdText, isPlainObject, parseArguments, type RequestMessage } from './rpc.ts'

/** Most cached patterns, one per tool, of one caller at one path; a new pattern replaces the oldest. */
const MOST_TOOLS = 8
/** Longest body, in characters, from which a pattern is learned: the whole body is kept, and little would be saved. */
const LONGEST = 2_048
/** Longest pause, in bodies, after learned patterns were never matched again. */
const LONGEST_PAUSE = 1_024
/** Placeholder for the parts that vary. It is random and secret, so it appears in a text only where it was inserted. */
const MARK = randomBytes(9).toString('base64url')
const METHOD = 'tools/call'

/** The text of a call without its id and its arguments, which stand between the three parts. */
interface Pattern {
  readonly head: string
  readonly middle: string
  readonly tail: string
  readonly idFirst: boolean
  readonly envelope: Omit<Envelope, 'params'>
}

/** A call that matched a pattern: its id, and the envelope with the new arguments in its parameters. */
export interface KnownCall {
  readonly id: IdText
  readonly envelope: Envelope
}

/**
 * Caches the calls of one modern client, since each call repeats the same client information and capabilities. For a
 * call that matches a pattern only the arguments are parsed, which takes a third of the time of a full parse. Calls
 * that match no pattern, and all errors, are left to the full parser.
 */
export class KnownCalls {
  /** Keyed by the tool's name. */
  readonly #patterns = new Map<string, Pattern>()
  /** Bodies from which nothing is learned: the rest of the current pause, and the length of the next one. */
  #pauseLeft = 0
  #nextPause = 0

  /** Matches a call that differs from an earlier one only in its id and arguments, and has the same headers. */
  open(body: string, headers: Headers): KnownCall | undefined {
    if (this.#patterns.size === 0) return undefined
    const name = headers.get('mcp-name')
    const pattern = name === null ? undefined : this.#patterns.get(name)
    if (name === null || !pattern || headers.get('mcp-method') !== METHOD) return undefined
    if (headers.get('mcp-protocol-version') !== MODERN_VERSION) return undefined
    const holes = matchTemplate(body, pattern)
    const args = holes && argumentsOf(holes.args)
    if (!holes || args === undefined) return undefined
    this.#nextPause = 0
    return { id: holes.id, envelope: { ...pattern.envelope, params: { name, arguments: args } } }
  }

  /** Learns the pattern of a call with a valid envelope and headers. Pauses grow while no pattern is matched again. */
  learn(body: string, { id, method, params }: RequestMessage, envelope: Envelope, headers: Headers): void {
    if (method !== METHOD || body.length > LONGEST) return
    if (this.#pauseLeft > 0) {
      this.#pauseLeft -= 1
      return
    }
    this.#pauseLeft = this.#nextPause
    this.#nextPause = Math.min(2 * this.#nextPause + 1, LONGEST_PAUSE)
    const name = envelope.params?.name
    // A name that is not valid in a header arrives in its base64 form.
    if (typeof name !== 'string' || headers.get('mcp-name') !== name || !isUsual(params, envelope)) return
    const pattern = patternOf(body, id, params.arguments as JsonValue, envelope)
    if (!pattern) return
    this.#patterns.delete(name)
    this.#patterns.set(name, pattern)
    const [oldest] = this.#patterns.keys()
    if (this.#patterns.size > MOST_TOOLS && oldest !== undefined) this.#patterns.delete(oldest)
  }
}

/** Whether the call has the required members and no others, and nothing that changes from call to call. */
function isUsual(params: JsonObject | undefined, envelope: Envelope): params is JsonObject {
  const { progressToken, requestState, inputResponses } = envelope
  if (progressToken !== undefined || requestState !== undefined || inputResponses !== undefined) return false
  const has = (value: JsonObject | undefined, ...keys: string[]) =>
    value !== undefined && Object.keys(value).length === keys.length && keys.every(key => Object.hasOwn(value, key))
  return has(params, 'name', 'arguments', '_meta') && has(envelope.params, 'name', 'arguments')
}

/** Undefined where the positions of id and arguments cannot be determined from the text. */
function patternOf(body: string, id: IdText, args: JsonValue, envelope: Envelope): Pattern | undefined {
  const argsText = JSON.stringify(args)
  const argsAt = placeOf(body, 'arguments', argsText, 0)
  const before = placeOf(body, 'id', id, 0)
  const idAt = before < argsAt ? before : placeOf(body, 'id', id, argsAt + argsText.length)
  if (argsAt < 0 || idAt < 0 || !isShortNumber(id)) return undefined
  const [first, second] = idAt < argsAt ? [idAt, argsAt] : [argsAt, idAt]
  const [firstText, secondText] = idAt < argsAt ? [id, argsText] : [argsText, id]
  const head = body.slice(0, first)
  const middle = body.slice(first + firstText.length, second)
  const tail = body.slice(second + secondText.length)
  if (!roundTrips(`${head}"${MARK}"${middle}"${MARK}"${tail}`)) return undefined
  const { params: _, ...rest } = envelope
  return { head, middle, tail, idFirst: idAt < argsAt, envelope: rest }
}

/** Where the value of this key begins; −1 if it does not occur. */
function placeOf(body: string, key: string, value: string, from: number): number {
  const at = body.indexOf(`"${key}":${value}`, from)
  return at < 0 ? at : at + key.length + 3
}

/** Where the marks are parsed as the message's id and arguments, any other value in those positions is so too. */
function roundTrips(marked: string): boolean {
  let value: JsonValue
  try {
    value = JSON.parse(marked)
  } catch {
    return false
  }
  return isPlainObject(value) && value.id === MARK && isPlainObject(value.params) && value.params.arguments === MARK
}

function matchTemplate(
  body: string,
  { head, middle, tail, idFirst }: Pattern,
): { id: IdText; args: string } | undefined {
  if (!body.startsWith(head) || !body.endsWith(tail)) return undefined
  const end = body.length - tail.length
  if (idFirst) {
    let idEnd = head.length
    while (isDigit(body, idEnd)) idEnd += 1
    const id = body.slice(head.length, idEnd)
    const argsAt = idEnd + middle.length
    if (!isShortNumber(id) || argsAt >= end || !body.startsWith(middle, idEnd)) return undefined
    return { id, args: body.slice(argsAt, end) }
  }
  let idAt = end
  while (isDigit(body, idAt - 1)) idAt -= 1
  const id = body.slice(idAt, end)
  const argsEnd = idAt - middle.length
  if (!isShortNumber(id) || argsEnd <= head.length || !body.startsWith(middle, argsEnd)) return undefined
  return { id, args: body.slice(head.length, argsEnd) }
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 0x30 && code <= 0x39
}

/** An integer in the only form in which JSON writes it. */
function isShortNumber(text: string): boolean {
  return text.length > 0 && text.length <= 15 && (text === '0' || text.charCodeAt(0) !== 0x30) && isDigit(text, 0)
}

/** Undefined where the arguments are rejected: the full parser then reports why. */
function argumentsOf(text: string): JsonValue | undefined {
  try {
    return parseArguments(text)
  } catch {
    return undefined
  }
}
