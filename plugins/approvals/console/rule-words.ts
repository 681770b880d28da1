import { formatSpan, t } from 'patchbay/console'
import type { Annotation, ApprovalRule, ArgumentCondition, RuleWhen, Scalar } from './api.ts'
import { ANNOTATIONS } from './rule-draft.ts'

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

/** Effect of a rule as a sentence. `kind`: the place of the rule, whose owner decides. */
export function ruleSentence(rule: ApprovalRule, kind: string): string {
  const conditions = conditionWords(rule.when ?? {})
  const action = actionWords(rule, kind)
  if (conditions.length === 0) return t('Every call {action}.', { action })
  return t('If {conditions}, the call {action}.', { conditions: conditions.join(t(' and ')), action })
}

/** True for a rule that never fits, since it allows calls by what servers say of their tools. */
export function neverFits({ when = {}, then }: ApprovalRule, trustAnnotations: boolean): boolean {
  return then === 'allow' && !trustAnnotations && ANNOTATIONS.some(name => when[name] !== undefined)
}

function conditionWords(when: RuleWhen): readonly string[] {
  const list = (names: readonly string[]): string => names.join(t(' or '))
  return [
    ...(when.tools ? [t('the tool is {names}', { names: list(when.tools) })] : []),
    ...(when.tags ? [t('the server or group has the tag {names}', { names: list(when.tags) })] : []),
    ...ANNOTATIONS.flatMap(name => {
      const value = when[name]
      return value === undefined ? [] : [annotationWords(name, value)]
    }),
    ...Object.entries(when.arguments ?? {}).flatMap(([pointer, condition]) => argumentWords(pointer, condition)),
    ...(when.callers ? [t('the user is {names}', { names: list(when.callers) })] : []),
    ...(when.clients ? [t('the client is {names}', { names: list(when.clients) })] : []),
  ]
}

function annotationWords(name: Annotation, value: boolean): string {
  switch (name) {
    case 'readOnly':
      return value ? t('the tool only reads') : t('the tool changes something')
    case 'destructive':
      return value ? t('the tool may destroy something') : t('the tool destroys nothing')
    case 'idempotent':
      return value ? t('a repeated call changes nothing more') : t('a repeated call acts again')
    case 'openWorld':
      return value ? t('the tool reaches the outside world') : t('the tool stays within its own system')
  }
}

function argumentWords(pointer: string, condition: ArgumentCondition): readonly string[] {
  const name = pointer === '' ? t('the arguments') : pointer
  return Object.entries(condition).map(([operator, value]) => operatorWords(name, operator, value))
}

function operatorWords(name: string, operator: string, given: Scalar | readonly Scalar[]): string {
  const value = Array.isArray(given) ? given.map(scalarText).join(t(' or ')) : scalarText(given as Scalar)
  switch (operator) {
    case 'gt':
      return t('{name} is greater than {value}', { name, value })
    case 'gte':
      return t('{name} is at least {value}', { name, value })
    case 'lt':
      return t('{name} is less than {value}', { name, value })
    case 'lte':
      return t('{name} is at most {value}', { name, value })
    case 'contains':
      return t('{name} contains {value}', { name, value })
    case 'prefix':
      return t('{name} begins with {value}', { name, value })
    case 'exists':
      return given === true ? t('{name} is given', { name }) : t('{name} is not given', { name })
    default:
      return t('{name} is {value}', { name, value })
  }
}

function scalarText(value: Scalar): string {
  return typeof value === 'string' ? `“${value}”` : String(value)
}

function actionWords({ then, who, by = ['console'], timeout = '10m', remember }: ApprovalRule, kind: string): string {
  if (then === 'allow') return t('is sent')
  if (then === 'deny') return t('is denied')
  const decider = deciderWords(who, kind)
  const time = spanText(timeout)
  const sent = by.includes('chat') ? t('; a message brings the link') : ''
  const waits = byWords(who, by, decider, time) + sent
  return remember === undefined ? waits : waits + t('; a yes may hold for {time}', { time: spanText(remember) })
}

function byWords(who: string | undefined, by: readonly string[], decider: string, time: string): string {
  if (who !== 'caller' || !by.includes('elicitation'))
    return t('waits for {decider} at the console, and is denied after {time}', { decider, time })
  if (by.includes('console') || by.includes('chat'))
    return t('waits for {decider} in the client or at the console, and is denied after {time}', { decider, time })
  return t('waits for {decider} in the client, and is denied after {time}', { decider, time })
}

function deciderWords(who: string | undefined, kind: string): string {
  if (who === 'caller') return t('its user')
  if (who?.startsWith('team:')) return t('the team {name}', { name: who.slice('team:'.length) })
  return kind === 'group' ? t('the owner of the group') : t('the owner of the server')
}

/** A duration such as `10m` in words; what is none, as it is. */
function spanText(text: string): string {
  const unit = UNITS_MS[text.at(-1) ?? '']
  const ms = Number.parseInt(text, 10) * (unit ?? Number.NaN)
  return Number.isNaN(ms) ? text : formatSpan(ms)
}
