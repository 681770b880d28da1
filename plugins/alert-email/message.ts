import type { AlertMessage, AlertSubject, NoticeMessage } from 'patchbay/features'

/** Most subjects that a mail names. */
const SUBJECTS = 100

const HEADS = { fired: 'FIRING', resolved: 'RESOLVED', repeat: 'STILL FIRING', test: 'TEST' } as const

/** A mail as plain text. */
export interface Mail {
  readonly subject: string
  readonly text: string
  /** The same for every attempt, so that a mail program shows a mail received twice only once. */
  readonly messageId: string
  /** By which mail programs put the mails about one alert together. */
  readonly references: readonly string[]
}

/** The mail about a message. */
export function mailOf(message: AlertMessage): Mail {
  const { id, kind, severity, instances, flapping, at } = message
  const [rule, owner, condition] = [message.rule, message.owner, message.condition].map(oneLine)
  const shown = instances.slice(0, SUBJECTS).map(describe)
  if (instances.length > SUBJECTS) shown.push(`… and ${instances.length - SUBJECTS} more`)
  const rest = [`Rule: ${owner}~${rule}`, `Condition: ${condition}`, `Severity: ${severity}`, `At: ${at}`]
  if (flapping) rest.unshift('It fires again and again.')
  return {
    subject: `[${HEADS[kind]}] ${severity}: ${rule}${namesOf(instances)}`,
    text: `${[...shown, rest.join('\n')].join('\n\n')}\n`,
    messageId: `<${id}@patchbay>`,
    references: instances.slice(0, 10).map(({ incident }) => `<${incident}@patchbay>`),
  }
}

/** The mail about something else than an alert. */
export function noticeMail({ id, title, lines, url, owner, at }: NoticeMessage): Mail {
  const shown = [...lines, `For: ${owner}`, `At: ${at}`].map(oneLine)
  return {
    subject: oneLine(title),
    text: `${[...shown, '', url].join('\n')}\n`,
    messageId: `<${id}@patchbay>`,
    references: [],
  }
}

/** The first subjects, since a list of mails shows no more. */
function namesOf(instances: readonly AlertSubject[]): string {
  if (instances.length === 0) return ''
  const names = instances.slice(0, 3).map(({ subject }) => oneLine(subject))
  return ` (${names.join(', ')}${instances.length > 3 ? ', …' : ''})`
}

/** A name stays on its line: what follows a line end could pass for a line of the mail, or a header. */
function oneLine(text: string): string {
  return text.replaceAll(/\s*[\r\n\v\f\u0085\u2028\u2029]+\s*/g, ' ')
}

function describe({ subject, state, value, threshold, reason, startsAt, endsAt }: AlertSubject): string {
  const lines = [
    `${oneLine(subject)}: ${state}`,
    `  value: ${value ?? 'none'}${threshold === undefined ? '' : ` (limit ${threshold})`}`,
    state === 'firing' ? `  since: ${startsAt}` : `  from: ${startsAt} to ${endsAt ?? 'now'}`,
  ]
  if (reason !== undefined) lines.push(`  reason: ${oneLine(reason)}`)
  return lines.join('\n')
}
