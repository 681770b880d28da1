import { Buffer } from 'node:buffer'
import type { AlertMessage, NoticeMessage } from 'patchbay/features'

/** Most subjects that a message names. */
const SUBJECTS = 20

const HEADS = { fired: 'FIRING', resolved: 'RESOLVED', repeat: 'STILL FIRING', test: 'TEST' } as const

/** The parts of a message. Each chat service has a format of its own for them. */
export interface ChatText {
  readonly title: string
  readonly lines: readonly string[]
  /** A page of the hub, which is not escaped. */
  readonly url?: string
  readonly tone: 'critical' | 'warning' | 'resolved' | 'notice'
  readonly severity?: string
  readonly owner: string
  readonly at: string
}

/** The parts of a message about alerts. */
export function alertText(message: AlertMessage): ChatText {
  const { kind, severity, owner, at } = message
  const tone = kind === 'resolved' ? 'resolved' : severity
  return { title: titleOf(message), lines: linesOf(message), tone, severity, owner, at }
}

/** The parts of a message about something else. */
export function noticeText({ title, lines, url, owner, at }: NoticeMessage): ChatText {
  return { title, lines, url, tone: 'notice', owner, at }
}

/** One line: the event, its severity, and the rule. */
function titleOf({ kind, severity, rule }: AlertMessage): string {
  return `[${HEADS[kind]}] ${severity}: ${rule}`
}

/** One line for each subject, and the condition. */
function linesOf({ condition, instances, flapping }: AlertMessage): readonly string[] {
  const shown = instances.slice(0, SUBJECTS).map(({ subject, value, state, reason, startsAt, endsAt }) => {
    const since = state === 'firing' ? `since ${startsAt}` : `from ${startsAt} to ${endsAt ?? 'now'}`
    return `${subject}: ${state}, ${value ?? 'no value'}, ${since}${reason === undefined ? '' : ` (${reason})`}`
  })
  const more = instances.length > SUBJECTS ? [`and ${instances.length - SUBJECTS} more`] : []
  return [...shown, ...more, ...(flapping ? ['It fires again and again.'] : []), condition]
}

/** The text, truncated to this number of bytes of UTF-8 between characters, with `…`. */
export function cutBytes(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text
  let bytes = Buffer.byteLength('…')
  let end = 0
  for (const character of text) {
    bytes += Buffer.byteLength(character)
    if (bytes > most) break
    end += character.length
  }
  return `${text.slice(0, end)}…`
}

/** The text, truncated to this number of characters (UTF-16 units, as the services count), with `…`. */
export function cutCharacters(text: string, most: number): string {
  if (text.length <= most) return text
  return `${text
    .slice(0, most - 1)
    .toWellFormed()
    .replace(/\ufffd$/, '')}…`
}
