import type { Annotation, ApprovalRule, RuleWhen, Way } from './api.ts'
import { type ArgumentRow, conditionsOf, rowsOf } from './argument-rows.ts'

/** Annotations of tools, in the order of forms and sentences. */
export const ANNOTATIONS: readonly Annotation[] = ['readOnly', 'destructive', 'idempotent', 'openWorld']

/** A rule as its form has it. */
export interface RuleDraft {
  readonly then: ApprovalRule['then']
  /** Names, separated by commas; empty: all. */
  readonly tools: string
  readonly tags: string
  readonly callers: string
  readonly clients: string
  readonly annotations: Readonly<Record<Annotation, '' | 'yes' | 'no'>>
  readonly rows: readonly ArgumentRow[]
  readonly who: string
  readonly by: readonly Way[]
  readonly timeout: string
  /** Empty: a decision is for one call. */
  readonly remember: string
}

/** The draft of a rule; without one, of a new rule that asks. */
export function draftOf({ when = {}, then, who = 'owner', by, timeout, remember }: ApprovalRule): RuleDraft {
  const list = (names: readonly string[] = []): string => names.join(', ')
  const marks = ANNOTATIONS.map(name => [name, markOf(when[name])] as const)
  return {
    ...{ then, who, by: by ?? ['console'], timeout: timeout ?? '10m', remember: remember ?? '' },
    ...{ tools: list(when.tools), tags: list(when.tags), callers: list(when.callers), clients: list(when.clients) },
    annotations: Object.fromEntries(marks) as RuleDraft['annotations'],
    rows: rowsOf(when.arguments ?? {}),
  }
}

function markOf(value: boolean | undefined): '' | 'yes' | 'no' {
  if (value === undefined) return ''
  return value ? 'yes' : 'no'
}

/** The rule of a draft. Members of `before` for which the form has no field stay. */
export function ruleOf(draft: RuleDraft, before: ApprovalRule | undefined): ApprovalRule {
  const when = whenOf(draft, before?.when ?? {})
  const { who: _who, by: _by, timeout: _timeout, remember: _remember, when: _when, ...others } = before ?? {}
  const { then, who, by, timeout, remember } = draft
  const isFor = Object.keys(when).length > 0 ? { when } : {}
  if (then !== 'ask') return { ...others, ...isFor, then }
  return {
    ...{ ...others, ...isFor, then, who },
    ...waysOf(who, by),
    ...(timeout.trim() === '' ? {} : { timeout: timeout.trim() }),
    ...(remember.trim() === '' ? {} : { remember: remember.trim() }),
  }
}

/** Others than callers decide at the console, to which a message leads. */
function waysOf(who: string, by: readonly Way[]): Pick<ApprovalRule, 'by'> {
  if (who === 'caller') return { by }
  return by.includes('chat') ? { by: ['console', 'chat'] } : {}
}

function whenOf(draft: RuleDraft, before: RuleWhen): RuleWhen {
  const known = new Set<string>(['tools', 'tags', 'callers', 'clients', 'arguments', ...ANNOTATIONS])
  const others = Object.fromEntries(Object.entries(before).filter(([name]) => !known.has(name)))
  const lists = (['tools', 'tags', 'callers', 'clients'] as const).flatMap(name => {
    const names = draft[name]
      .split(',')
      .map(one => one.trim())
      .filter(one => one !== '')
    return names.length === 0 ? [] : [[name, names] as const]
  })
  const annotations = ANNOTATIONS.flatMap(name =>
    draft.annotations[name] === '' ? [] : [[name, draft.annotations[name] === 'yes'] as const],
  )
  return {
    ...others,
    ...Object.fromEntries([...lists, ...annotations]),
    ...(draft.rows.length > 0 ? { arguments: conditionsOf(draft.rows) } : {}),
  }
}
