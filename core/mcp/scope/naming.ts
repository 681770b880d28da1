import { hash } from 'node:crypto'
import { readableName } from '../../transport-kit/readable-name.ts'

/** Longest exposed name; several clients and model APIs reject longer ones. */
const MAX_NAME = 64
const HASH_CHARACTERS = 6
const LEGAL = /^[A-Za-z0-9_-]{1,64}$/

/** The kind of a named thing; it is part of the hash that makes a name unique. */
export type NamedKind = 'tools' | 'prompts' | 'alias'

/** One item of a member that needs an exposed name. */
export interface Nameable {
  readonly serverId: string
  /** The member's alias, already legal. */
  readonly alias: string
  /** The upstream's name for the item. */
  readonly original: string
  /** The preferred exposed name: an override, or the original. */
  readonly wanted: string
}

/** `plain`: one server, never prefixed. `auto`: prefixed where two members collide. `prefixed`: always. */
export type NamingMode = 'plain' | 'auto' | 'prefixed'

function digest(serverId: string, kind: NamedKind, name: string, round: number): string {
  // One call of `hash`: objects of createHash cost more than hashing thousands of names.
  const text = JSON.stringify([serverId, kind, name]) + (round > 0 ? String(round) : '')
  return hash('sha256', text, 'hex').slice(0, HASH_CHARACTERS)
}

function withHash(name: string, suffix: string): string {
  return `${name.slice(0, MAX_NAME - HASH_CHARACTERS - 1)}_${suffix}`
}

/**
 * A name of `[A-Za-z0-9_-]`, at most 64 characters, other scripts transliterated to Latin. A name that was shortened,
 * or of which nothing was left, ends with a hash.
 */
export function legalName(name: string, serverId: string, kind: NamedKind): string {
  return LEGAL.test(name) ? name : fitName(readableName(name), name, serverId, kind)
}

function fitName(readable: string, name: string, serverId: string, kind: NamedKind): string {
  if (readable !== '' && readable.length <= MAX_NAME) return readable
  return withHash(readable, digest(serverId, kind, name, 0))
}

/**
 * The exposed names of one kind in one scope, in the order of `items`: legal, unique, and the same for the same set of
 * items in any order. All items of a collision are renamed, so that no name depends on the order. `reserved`: names of
 * the hub itself, which collide with everything.
 */
export function exposeNames(
  kind: NamedKind,
  mode: NamingMode,
  items: readonly Nameable[],
  reserved: readonly string[] = [],
): string[] {
  const readable = items.map(item => readableName(item.wanted))
  const names = items.map(({ wanted, serverId }, index) => fitName(readable[index] ?? '', wanted, serverId, kind))
  if (mode !== 'plain') {
    // Compared before they are shortened: the hash at the end of a shortened name would hide the collision.
    const shared = mode === 'prefixed' ? undefined : repeated([...reserved, ...readable])
    items.forEach((item, index) => {
      if (shared && !shared.has(readable[index] ?? '')) return
      names[index] = legalName(`${item.alias}_${item.wanted}`, item.serverId, kind)
    })
  }
  // One round suffices, except where two hashes are equal or an upstream names a tool like another one's hash.
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
  const seen = new Set<string>(names)
  if (seen.size === names.length) return new Set()
  seen.clear()
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
