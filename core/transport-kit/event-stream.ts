import type { GuardedResponse } from '../contract/fetch.ts'
import type { LongMessage } from './definition.ts'
import { type SseEvent, type SseHandlers, SseParser } from './sse-parser.ts'

/** The position from which a stream can be resumed. */
export interface StreamPosition {
  lastEventId: string | undefined
  /** The delay that the server requested; valid for the whole stream. */
  retryMs: number | undefined
}

/** An hour: within the range of a timer, and longer than any call. */
const MAX_RETRY_MS = 3_600_000
const MAX_EVENT_ID_CHARACTERS = 1024

/** Callbacks and limits of one stream. */
export interface EventOptions {
  /** Longest message, in bytes; read for each one. Default 10 MiB. */
  readonly maxBytes?: number
  /** Called when a longer one was dropped. */
  tooLong?(message: LongMessage): void
  /** Called for events that are not messages. */
  other?(event: SseEvent): void
}

/**
 * Reads one response as a stream of messages and keeps `position` up to date. `done` is called once; a RangeError means
 * that an event was even too long to be skipped.
 */
export function readEvents(
  response: GuardedResponse,
  position: StreamPosition,
  message: (text: string) => void,
  done: (error?: unknown) => void,
  options: EventOptions = {},
): void {
  let failure: unknown
  let isOver = false
  const handlers: SseHandlers = {
    event: event => {
      // Some servers end a stream without the empty line behind the last event; another one is cut off.
      if (isOver && !isJson(event.data)) return
      if (event.type === 'message') message(event.data)
      else options.other?.(event)
    },
    id: id => {
      // An id that is not valid in a header cannot be sent back.
      if (!isOver && id.length <= MAX_EVENT_ID_CHARACTERS && /^[\x21-\x7e][\x20-\x7e]*$/.test(id))
        position.lastEventId = id
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
      if (failure !== undefined) return
      isOver = true
      if (error === undefined) parser.push('\n\n')
      done(error)
    },
  })
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/**
 * Milliseconds to wait before the attempt that follows `failures` failed ones: none, then 1 s doubling to 60 s, with
 * full jitter. `random` returns a number from 0 to 1, as Math.random does.
 */
export function backoffMs(failures: number, random: () => number): number {
  if (failures === 0) return 0
  return random() * Math.min(60_000, 1_000 * 2 ** (failures - 1))
}
