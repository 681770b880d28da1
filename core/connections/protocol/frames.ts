import type { ErrorCode } from '../../contract/errors.ts'

/**
 * All that belongs to a call crosses the border between main and a worker as a *frame*: a line of text whose first letter
 * is its kind. The frames of one tick are one string, joined by line ends (a structured clone of a small object costs three
 * times as much as a string). JSON texts inside a frame hold no raw line end.
 */

/** A frame from main to a worker, which is for one connection. */
export type CallerFrame =
  /** One request, the whole JSON-RPC text. */
  | { readonly kind: 'call'; readonly id: number; readonly text: string }
  /** The same with headers of this one call. */
  | {
      readonly kind: 'call-with-headers'
      readonly id: number
      readonly headers: Readonly<Record<string, string>>
      readonly style: ResultStyle
      readonly text: string
    }
  /** The caller cancelled. */
  | { readonly kind: 'cancel'; readonly id: number; readonly reason: string }
  /** A notification to the upstream. */
  | { readonly kind: 'send'; readonly text: string }
  /** The response to the upstream's request `key`: `{"result":…}` or `{"error":…}`. */
  | { readonly kind: 'answer'; readonly key: number; readonly text: string }

/**
 * The form in which a caller gets a result. `converted`: in the form of the legacy era, normalized; `as-is`: normalized only, for a modern
 * client; `written`: converted and not normalized, for an HTTP API.
 */
export type ResultStyle = 'converted' | 'as-is' | 'written'

/** The form of a result: `input`: the upstream requests input first; `task`: it made a task; `error`: a tool set isError. */
export type ResultForm = 'complete' | 'error' | 'input' | 'task'

/**
 * The way in which an exchange failed. `not-sent`: it was not begun; `repaired`: headers that were rejected are fixed, send it
 * again.
 */
export type FailureForm = 'failed' | 'not-sent' | 'repaired'

/** A frame from a worker to main. */
export type UpstreamFrame =
  /** A result as the caller's era has it. A long one is sent as an object instead (`LongResult`). */
  | { readonly kind: 'result'; readonly id: number; readonly form: ResultForm; readonly text: string }
  /** A sentence for the record of a call, before its result. */
  | { readonly kind: 'note'; readonly id: number; readonly text: string }
  /** The upstream's error object. */
  | { readonly kind: 'error'; readonly id: number; readonly text: string }
  /** The hub's own error. */
  | {
      readonly kind: 'failure'
      readonly id: number
      readonly form: FailureForm
      readonly code: ErrorCode
      readonly message: string
    }
  /** Progress of a call: its params. */
  | { readonly kind: 'progress'; readonly id: number; readonly text: string }
  /** Another notification, `{method, params}`; id 0: it came on no call's own stream. */
  | { readonly kind: 'notification'; readonly id: number; readonly text: string }
  /** A request of the upstream, `{method, params}`; id 0: it came on no call's own stream. */
  | { readonly kind: 'request'; readonly id: number; readonly key: number; readonly text: string }
  /** The upstream cancelled its request. */
  | { readonly kind: 'withdrawn'; readonly key: number }

const STYLE_LETTERS = { converted: 'h', 'as-is': 'v', written: 'w' } as const satisfies Record<ResultStyle, string>
const RESULT_FORMS = ['complete', 'error', 'input', 'task'] as const satisfies readonly ResultForm[]
const FAILURE_FORMS = ['failed', 'not-sent', 'repaired'] as const satisfies readonly FailureForm[]

/** The number of the connection that a frame is for. */
export function connectionOf(frame: string): number {
  return readNumber(frame, 1)
}

/** `conn` is the number of the connection. */
export function encodeCallerFrame(conn: number, frame: CallerFrame): string {
  switch (frame.kind) {
    case 'call':
      return `c${conn} ${frame.id} ${frame.text}`
    case 'call-with-headers': {
      const headers = JSON.stringify(frame.headers)
      return `${STYLE_LETTERS[frame.style]}${conn} ${frame.id} ${headers.length} ${headers}${frame.text}`
    }
    case 'cancel':
      return `x${conn} ${frame.id} ${JSON.stringify(frame.reason)}`
    case 'send':
      return `s${conn} ${frame.text}`
    case 'answer':
      return `a${conn} ${frame.key} ${frame.text}`
  }
}

/** Throws on a text that `encodeCallerFrame` did not write. */
export function decodeCallerFrame(text: string): CallerFrame {
  const at = text.indexOf(' ') + 1
  const letter = text[0]
  if (letter === 's') return { kind: 'send', text: text.slice(at) }
  const id = readNumber(text, at)
  const next = text.indexOf(' ', at) + 1
  switch (letter) {
    case 'c':
      return { kind: 'call', id, text: text.slice(next) }
    case 'h':
    case 'v':
    case 'w': {
      const headersAt = text.indexOf(' ', next) + 1
      const end = headersAt + readNumber(text, next)
      const headers = JSON.parse(text.slice(headersAt, end)) as Readonly<Record<string, string>>
      const style = letter === 'h' ? 'converted' : letter === 'v' ? 'as-is' : 'written'
      return { kind: 'call-with-headers', id, headers, style, text: text.slice(end) }
    }
    case 'x':
      return { kind: 'cancel', id, reason: JSON.parse(text.slice(next)) as string }
    case 'a':
      return { kind: 'answer', key: id, text: text.slice(next) }
  }
  throw unknownFrame(text)
}

/** `conn` is the number of the connection. */
export function encodeUpstreamFrame(conn: number, frame: UpstreamFrame): string {
  switch (frame.kind) {
    case 'result':
      return `r${conn} ${frame.id} ${RESULT_FORMS.indexOf(frame.form)} ${frame.text}`
    case 'note':
      return `o${conn} ${frame.id} ${frame.text.replace(/[\r\n]+/g, ' ')}`
    case 'error':
      return `e${conn} ${frame.id} ${frame.text}`
    case 'failure': {
      const message = frame.message.replace(/[\r\n]+/g, ' ')
      return `f${conn} ${frame.id} ${FAILURE_FORMS.indexOf(frame.form)} ${frame.code} ${message}`
    }
    case 'progress':
      return `n${conn} ${frame.id} ${frame.text}`
    case 'notification':
      return `m${conn} ${frame.id} ${frame.text}`
    case 'request':
      return `q${conn} ${frame.id} ${frame.key} ${frame.text}`
    case 'withdrawn':
      return `d${conn} ${frame.key}`
  }
}

/** Throws on a text that `encodeUpstreamFrame` did not write. */
export function decodeUpstreamFrame(text: string): UpstreamFrame {
  const at = text.indexOf(' ') + 1
  const id = readNumber(text, at)
  const next = text.indexOf(' ', at) + 1
  switch (text[0]) {
    case 'r':
      return { kind: 'result', id, form: RESULT_FORMS[readNumber(text, next)]!, text: text.slice(next + 2) }
    case 'o':
      return { kind: 'note', id, text: text.slice(next) }
    case 'e':
      return { kind: 'error', id, text: text.slice(next) }
    case 'f': {
      const codeAt = next + 2
      const codeEnd = text.indexOf(' ', codeAt)
      const code = text.slice(codeAt, codeEnd) as ErrorCode
      return {
        kind: 'failure',
        id,
        form: FAILURE_FORMS[readNumber(text, next)]!,
        code,
        message: text.slice(codeEnd + 1),
      }
    }
    case 'n':
      return { kind: 'progress', id, text: text.slice(next) }
    case 'm':
      return { kind: 'notification', id, text: text.slice(next) }
    case 'q':
      return { kind: 'request', id, key: readNumber(text, next), text: text.slice(text.indexOf(' ', next) + 1) }
    case 'd':
      return { kind: 'withdrawn', key: id }
  }
  throw unknownFrame(text)
}

function unknownFrame(text: string): Error {
  return new Error(`A frame of no known kind crossed the worker border: ${text.slice(0, 16)}`)
}

/** Calls `each` for every frame of a joined string. */
export function eachFrame(joined: string, each: (frame: string) => void): void {
  let start = 0
  let end = joined.indexOf('\n')
  while (end !== -1) {
    each(joined.slice(start, end))
    start = end + 1
    end = joined.indexOf('\n', start)
  }
  each(start === 0 ? joined : joined.slice(start))
}

/** Parses the digits at `from`, up to the first other character. */
function readNumber(text: string, from: number): number {
  let value = 0
  for (let at = from; ; at += 1) {
    const digit = text.charCodeAt(at) - ZERO
    // NaN at the end of the text fails both comparisons.
    if (!(digit >= 0 && digit <= 9)) return value
    value = value * 10 + digit
  }
}

const ZERO = '0'.charCodeAt(0)
