import type { PluginTables } from 'patchbay/contract'
import type { AttachedThing, GatedCall } from 'patchbay/features'
import { nameKey } from 'patchbay/plugin-kit'
import type { Policy } from './rule-schema.ts'
import { type Ask, isTeam, verdictOf, type Way, withTeams } from './rules.ts'
import type { ApprovalTables } from './tables.ts'

/** A decision that is wanted, and who has to give it. */
export interface WantedAsk extends Ask {
  /** A user's id, or `team:` and the key of a team's name. */
  readonly deciderId: string
}

/** The verdict of all rules together on a call. */
export type Judgement = 'allow' | 'deny' | readonly WantedAsk[]

/** The rules of the hub, of groups and of servers, in memory. */
export class Policies {
  readonly #tables: PluginTables<ApprovalTables>
  /** The rules of the hub as its configuration has them. */
  readonly #written: Policy | undefined
  #system: Policy | undefined
  readonly #policies = new Map<string, Policy>()

  constructor(tables: PluginTables<ApprovalTables>, system: Policy | undefined) {
    this.#tables = tables
    this.#written = system?.rules.length ? system : undefined
    this.#system = this.#written
  }

  async load(): Promise<void> {
    const rows = await this.#tables.read(db => db.selectFrom('policy').selectAll().execute())
    for (const { id, policy } of rows) this.#policies.set(id, JSON.parse(policy))
  }

  get any(): boolean {
    return this.#system !== undefined || this.#policies.size > 0
  }

  get(id: string): Policy | undefined {
    return this.#policies.get(id)
  }

  /** `tables`: tables within a transaction that this write belongs to. */
  async set({ kind, id }: Pick<AttachedThing, 'kind' | 'id'>, policy: Policy, tables = this.#tables): Promise<void> {
    const place = kind === 'server' ? { server_id: id, group_id: null } : { server_id: null, group_id: id }
    const row = { id: `${kind}:${id}`, ...place }
    const isEmpty = policy.rules.length === 0
    await tables.write(async (db, after) => {
      await db.deleteFrom('policy').where('id', '=', row.id).execute()
      if (!isEmpty)
        await db
          .insertInto('policy')
          .values({ ...row, policy: JSON.stringify(policy) })
          .execute()
      after(() => {
        if (isEmpty) this.#policies.delete(row.id)
        else this.#policies.set(row.id, policy)
      })
    })
  }

  /** Gives a team its new name in the rules of servers and groups, without those of `stays`. */
  async renameTeam(before: string, name: string, stays: (id: string) => boolean): Promise<void> {
    await this.#tables.write(async (db, after) => {
      for (const { id, policy } of await db.selectFrom('policy').selectAll().execute()) {
        const known: Policy = JSON.parse(policy)
        if (stays(id) || !known.rules.some(({ who }) => isTeam(who, before))) continue
        const next = withTeams(known, team => (nameKey(team) === nameKey(before) ? name : team))
        await db
          .updateTable('policy')
          .set({ policy: JSON.stringify(next) })
          .where('id', '=', id)
          .execute()
        after(() => this.#policies.set(id, next))
      }
    })
  }

  /** Replaces names of teams in the hub's rules, in memory only: the configuration keeps them as written. */
  nameTeamsOfHub(nameOf: (team: string) => string): void {
    this.#system = this.#written && withTeams(this.#written, nameOf)
  }

  forget(id: string): void {
    this.#policies.delete(id)
  }

  /** The strictest of the hub's, the group's and the server's first rules that fit. All users who have to be asked must agree. */
  of(call: GatedCall): Judgement {
    const { group, server, actor } = call
    const places = [
      { policy: this.#system, ownerId: server.ownerId },
      { policy: group && this.#policies.get(`group:${group.id}`), ownerId: group?.ownerId ?? server.ownerId },
      { policy: this.#policies.get(`server:${server.id}`), ownerId: server.ownerId },
    ]
    const wanted = new Map<string, WantedAsk>()
    for (const { policy, ownerId } of places) {
      const verdict = policy && verdictOf(policy, call)
      if (verdict === 'deny') return 'deny'
      if (!verdict || verdict === 'allow') continue
      const deciderId = deciderOf(verdict, actor.userId, ownerId)
      const key = `${verdict.who} ${deciderId}`
      const other = wanted.get(key)
      wanted.set(key, { ...(other ? stricter(other, verdict) : verdict), deciderId })
    }
    return wanted.size === 0 ? 'allow' : [...wanted.values()]
  }
}

function deciderOf({ who, team = '' }: Ask, callerId: string, ownerId: string): string {
  if (who === 'team') return `team:${nameKey(team)}`
  return who === 'caller' ? callerId : ownerId
}

/** Two rules that ask the same user want one decision, in the narrower form of both. */
function stricter(one: Ask, other: Ask): Ask {
  const both = one.by.filter(way => way !== 'chat' && other.by.includes(way))
  const by = both.length > 0 ? both : (['console'] as const)
  const isSent = one.by.includes('chat') || other.by.includes('chat')
  return {
    ...(one.team === undefined ? {} : { team: one.team }),
    ...{ who: one.who, by: isSent ? [...new Set<Way>([...by, 'console', 'chat'])] : by },
    timeoutMs: Math.min(one.timeoutMs, other.timeoutMs),
    rememberMs: Math.min(one.rememberMs, other.rememberMs),
    rule: `${one.rule}\n${other.rule}`,
  }
}
