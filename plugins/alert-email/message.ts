import type { AlertMessage, AlertSubject } from 'patchbay/contract'

/** Most subjects that a mail names. */
const SUBJECTS = 100

const HEADS = { fired: 'FIRING', resolved: 'RESOLVED', repeat: 'STILL FIRING', test: 'TEST' } as const

/** What a mail says, as plain text. */
export interface Mail {
  readonly subject: string
  readonly text: string
  /** The same for every attempt, so that a mail program shows what came twice once. */
  readonly messageId: string
  /** By which mail programs put the mails about one alert together. */
  readonly references: readonly string[]
}

/** The mail about a message. */
export function mailOf(message: AlertMessage): Mail {
  const { id, kind, severity, rule, condition, instances, flapping, owner, at } = message
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

/** The first subjects, since a list of mails shows no more. */
function namesOf(instances: readonly AlertSubject[]): string {
  if (instances.length === 0) return ''
  const names = instances.slice(0, 3).map(({ subject }) => subject)
  return ` (${names.join(', ')}${instances.length > 3 ? ', …' : ''})`
}

function describe({ subject, state, value, threshold, reason, startsAt, endsAt }: AlertSubject): string {
  const lines = [
    `${subject}: ${state}`,
    `  value: ${value ?? 'none'}${threshold === undefined ? '' : ` (limit ${threshold})`}`,
    state === 'firing' ? `  since: ${startsAt}` : `  from: ${startsAt} to ${endsAt ?? 'now'}`,
  ]
  if (reason !== undefined) lines.push(`  reason: ${reason}`)
  return lines.join('\n')
}
