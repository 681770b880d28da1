import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import type { GatedCall } from 'patchbay/features'
import { canonical, fitsGlob, hasAnyTag, nameKey, valueAt } from 'patchbay/plugin-kit'
import type { Policy, Rule } from './rule-schema.ts'

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const
/** Time for a decision where a rule names none. */
const USUAL_TIMEOUT = '10m'

type When = Rule['when']
type Condition = NonNullable<When['arguments']>[string]

export type Who = 'caller' | 'owner' | 'team'
export type Way = 'elicitation' | 'console' | 'chat'

/** A rule that wants a decision. `rule`: its text, so that a decision is for this form of the rule alone. */
export interface Ask {
  readonly who: Who
  /** The name of the team that decides. */
  readonly team?: string
  /** A message leads to the console, so that `chat` never stands without it. */
  readonly by: readonly Way[]
  readonly timeoutMs: number
  /** 0: a decision is for one call. */
  readonly rememberMs: number
  readonly rule: string
}

export type Verdict = 'allow' | 'deny' | Ask

/** The verdict of the first rule that fits; undefined: none does. */
export function verdictOf({ rules, trustAnnotations = false }: Policy, call: GatedCall): Verdict | undefined {
  const found = rules.find(one => {
    if (one.then === 'allow' && !trustAnnotations && relies(one.when)) return false
    return fits(one.when, call, one.then === 'allow')
  })
  if (!found) return undefined
  if (found.then !== 'ask') return found.then
  const { who, by = ['console'], timeout = USUAL_TIMEOUT, remember } = found
  const team = teamOf(who)
  return {
    ...(team === undefined ? { who: who === 'caller' ? 'caller' : 'owner' } : { who: 'team', team }),
    ...{ by: by.includes('chat') ? [...new Set<Way>([...by, 'console'])] : by, rule: JSON.stringify(found) },
    timeoutMs: clamped(timeout),
    rememberMs: remember === undefined ? 0 : clamped(remember),
  }
}

/** The name of the team in `team:crew`. */
export function teamOf(who: string | undefined): string | undefined {
  return who?.startsWith('team:') ? who.slice('team:'.length) : undefined
}

/** True when a rule names this team, letter case ignored. */
export function isTeam(who: string | undefined, name: string): boolean {
  return nameKey(teamOf(who) ?? '') === nameKey(name)
}

/** The rules with the name of each team replaced by what `nameOf` returns. */
export function withTeams(policy: Policy, nameOf: (team: string) => string): Policy {
  const rules = policy.rules.map(one => {
    const team = teamOf(one.who)
    return team === undefined ? one : { ...one, who: `team:${nameOf(team)}` }
  })
  return { ...policy, rules }
}

function clamped(text: string): number {
  return Math.min(Math.max(msOf(text), 1_000), 86_400_000)
}

/** Milliseconds of `90s`, `10m`, `1h`. */
function msOf(text: string): number {
  return Number.parseInt(text, 10) * UNITS_MS[text.at(-1) as keyof typeof UNITS_MS]
}

/** True for conditions about annotations, which are claims of the server. */
function relies({ readOnly, destructive, idempotent, openWorld }: When): boolean {
  return [readOnly, destructive, idempotent, openWorld].some(one => one !== undefined)
}

/** `strict`: a value that can be read in several ways does not fit; otherwise, it does. */
function fits(wanted: When, { tool, tags, arguments: given, actor, client }: GatedCall, strict: boolean): boolean {
  const { tools, callers, clients, arguments: conditions = {} } = wanted
  if (tools && !tools.some(one => fitsGlob(one, tool.name))) return false
  if (wanted.tags && !hasAnyTag([...tags.group, ...tags.server], wanted.tags)) return false
  if (callers && !callers.some(one => fitsGlob(one, actor.name))) return false
  if (clients && !clients.some(one => fitsGlob(one, client.name ?? ''))) return false
  if (relies(wanted) && !fitsAnnotations(wanted, tool.annotations)) return false
  return Object.entries(conditions).every(([pointer, one]) => holds(one, valueAt(given, pointer), strict))
}

/** Annotations that are missing have the defaults of MCP. */
function fitsAnnotations({ readOnly, destructive, idempotent, openWorld }: When, annotations: JsonObject): boolean {
  const isReadOnly = annotations.readOnlyHint === true
  const known = {
    readOnly: isReadOnly,
    destructive: !isReadOnly && annotations.destructiveHint !== false,
    idempotent: annotations.idempotentHint === true,
    openWorld: annotations.openWorldHint !== false,
  }
  const wanted = { readOnly, destructive, idempotent, openWorld }
  return (Object.keys(known) as (keyof typeof known)[]).every(name => (wanted[name] ?? known[name]) === known[name])
}

function holds(wanted: Condition, value: JsonValue | undefined, strict: boolean): boolean {
  const { eq, in: list, exists, contains, prefix, ...bounds } = wanted
  if (exists !== undefined && exists !== (value !== undefined)) return false
  if (value === undefined) return exists === false
  if (eq !== undefined && !isSame(eq, value)) return false
  if (list && !list.some(one => isSame(one, value))) return false
  if (contains !== undefined && !includes(value, contains)) return false
  if (prefix !== undefined && !(typeof value === 'string' && value.startsWith(prefix))) return false
  return withinBounds(bounds, value, strict)
}

type Bounds = Pick<Condition, 'gt' | 'gte' | 'lt' | 'lte'>

function withinBounds({ gt, gte, lt, lte }: Bounds, value: JsonValue, strict: boolean): boolean {
  if ([gt, gte, lt, lte].every(one => one === undefined)) return true
  const number = strict && typeof value === 'string' ? undefined : numberOf(value)
  // A server may read it as any number.
  if (number === undefined) return !strict
  return (
    (gt === undefined || number > gt) &&
    (gte === undefined || number >= gte) &&
    (lt === undefined || number < lt) &&
    (lte === undefined || number <= lte)
  )
}

/** Numbers that a double cannot hold as they were written are objects with their text. */
function numberOf(value: JsonValue): number | undefined {
  if (typeof value === 'number') return value
  const text = typeof value === 'string' ? value.trim() : isJsonObject(value) ? JSON.stringify(value) : ''
  return text !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined
}

function isSame(one: JsonValue, other: JsonValue): boolean {
  if (typeof one === 'number' && typeof other === 'object') return numberOf(other) === one
  return canonical(one) === canonical(other)
}

function includes(value: JsonValue, part: string): boolean {
  if (typeof value === 'string') return value.includes(part)
  return Array.isArray(value) && value.some(one => one === part)
}
