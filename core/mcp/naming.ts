import { createHash } from 'node:crypto'

/** Longest exposed name; several clients and model interfaces refuse longer ones. */
const MAX_NAME = 64
const HASH_CHARACTERS = 6
const ILLEGAL = /[^A-Za-z0-9_-]/gu
const NON_ASCII = /[^\0-\x7f]/

export type NamedKind = 'tools' | 'prompts' | 'alias'

/** One item of a member on its way to an exposed name. */
export interface Nameable {
  readonly serverId: string
  /** The member's alias, legal already. */
  readonly alias: string
  /** The name by which the upstream knows the item. */
  readonly original: string
  /** What it should be called: an override, or the original. */
  readonly wanted: string
}

/** `plain`: one server, never prefixed. `auto`: prefixed where two members collide. `prefixed`: always. */
export type NamingMode = 'plain' | 'auto' | 'prefixed'

function digest(serverId: string, kind: NamedKind, name: string, round: number): string {
  const hash = createHash('sha256').update(JSON.stringify([serverId, kind, name]))
  if (round > 0) hash.update(String(round))
  return hash.digest('hex').slice(0, HASH_CHARACTERS)
}

function withHash(name: string, hash: string): string {
  return `${name.slice(0, MAX_NAME - HASH_CHARACTERS - 1)}_${hash}`
}

/** `[A-Za-z0-9_-]`, at most 64 characters; a name that was cut or lost a non-ASCII character ends with a hash. */
export function legalName(name: string, serverId: string, kind: NamedKind): string {
  const legal = name.replace(ILLEGAL, '_')
  if (legal !== '' && legal.length <= MAX_NAME && !NON_ASCII.test(name)) return legal
  return withHash(legal, digest(serverId, kind, name, 0))
}

/**
 * The exposed names of one kind in one scope, in the order of `items`: legal, unique, and the same for the same set of
 * items whatever their order. Every party of a collision is renamed, so that none depends on who came first. `reserved`:
 * names that are the hub's own, with which everything collides.
 */
export function exposeNames(
  kind: NamedKind,
  mode: NamingMode,
  items: readonly Nameable[],
  reserved: readonly string[] = [],
): string[] {
  const names = items.map(item => legalName(item.wanted, item.serverId, kind))
  if (mode !== 'plain') {
    const shared = mode === 'prefixed' ? undefined : repeated([...reserved, ...names])
    items.forEach((item, index) => {
      if (shared && !shared.has(names[index] ?? '')) return
      names[index] = legalName(`${item.alias}_${item.wanted}`, item.serverId, kind)
    })
  }
  // One round is all it takes, short of two equal hashes or of an upstream that names a tool like somebody's hash.
  for (let round = 0; ; round++) {
    const shared = repeated([...reserved, ...names])
    if (shared.size === 0) return names
    items.forEach((item, index) => {
      const name = names[index] ?? ''
      if (shared.has(name)) names[index] = withHash(name, digest(item.serverId, kind, item.original, round))
    })
  }
}

function repeated(names: readonly string[]): Set<string> {
  const seen = new Set<string>()
  const twice = new Set<string>()
  for (const name of names) {
    if (seen.has(name)) twice.add(name)
    else seen.add(name)
  }
  return twice
}

/** One alias per member, unique in the scope: the member's own, else its server's name. */
export function aliases(
  members: readonly { readonly serverId: string; readonly alias?: string; readonly serverName: string }[],
): string[] {
  const items = members.map(member => {
    const wanted = member.alias ?? member.serverName
    return { serverId: member.serverId, alias: '', original: wanted, wanted }
  })
  return exposeNames('alias', 'plain', items)
}

/** Names of `known` that a reader may have meant by `name`, at most three, best first. */
export function nearNames(name: string, known: Iterable<string>): string[] {
  const wanted = name.toLowerCase()
  const allowed = Math.max(2, Math.min(4, Math.floor(wanted.length / 4)))
  const found: { name: string; distance: number }[] = []
  for (const candidate of known) {
    const lower = candidate.toLowerCase()
    const contained = wanted.length >= 3 && (lower.includes(wanted) || (lower.length >= 3 && wanted.includes(lower)))
    const distance = contained ? 1 : editDistance(wanted, lower, allowed)
    if (distance <= allowed) found.push({ name: candidate, distance })
  }
  found.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
  return found.slice(0, 3).map(entry => entry.name)
}

function editDistance(a: string, b: string, allowed: number): number {
  // A caller's text must not decide how long this takes: exposed names end at 64 characters, so what is longer is far.
  if (Math.abs(a.length - b.length) > allowed) return MAX_NAME
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? MAX_NAME
}
