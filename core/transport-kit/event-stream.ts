import type { GuardedResponse, LongMessage } from '../contract/transport.ts'
import { type SseEvent, type SseHandlers, SseParser } from './sse-parser.ts'

/** Where a stream can be taken up again. */
export interface StreamPosition {
  lastEventId: string | undefined
  /** What the server asked for; it stays in force for the whole stream. */
  retryMs: number | undefined
}

/** An hour: what a timer still holds, and longer than any call. */
const MAX_RETRY_MS = 3_600_000
const MAX_EVENT_ID_CHARACTERS = 1024

export interface EventOptions {
  /** Longest message, in bytes; asked at each one. Default 10 MiB. */
  readonly maxBytes?: number
  /** A longer one was dropped. */
  tooLong?(message: LongMessage): void
  /** Hears the events that are no messages. */
  other?(event: SseEvent): void
}

/**
 * Reads one response as a stream of messages and keeps `position` up to date. `done` is called once; a RangeError says that
 * an event was longer than is even dropped.
 */
export function readEvents(
  response: GuardedResponse,
  position: StreamPosition,
  message: (text: string) => void,
  done: (error?: unknown) => void,
  options: EventOptions = {},
): void {
  let failure: unknown
  const handlers: SseHandlers = {
    event: event => {
      if (event.type === 'message') message(event.data)
      else options.other?.(event)
    },
    id: id => {
      // An id that cannot be sent back as a header is of no use.
      if (id.length <= MAX_EVENT_ID_CHARACTERS && /^[\x21-\x7e][\x20-\x7e]*$/.test(id)) position.lastEventId = id
    },
    retry: milliseconds => {
      position.retryMs = Math.min(milliseconds, MAX_RETRY_MS)
    },
    tooLong: message => options.tooLong?.(message),
  }
  const parser = new SseParser(handlers, options)
  response.stream({
    chunk: text => {
      if (failure !== undefined) return
      try {
        parser.push(text)
      } catch (error) {
        failure = error
        response.cancel()
        done(error)
      }
    },
    done: error => {
      if (failure === undefined) done(error)
    },
  })
}

/**
 * Milliseconds to wait before the attempt that follows `failures` failed ones: none, then 1 s doubling to 60 s, with full
 * jitter. `random` gives a number from 0 to 1, as Math.random does.
 */
export function backoffMs(failures: number, random: () => number): number {
  if (failures === 0) return 0
  return random() * Math.min(60_000, 1_000 * 2 ** (failures - 1))
}
