import type { PluginContext, TableWriter } from 'patchbay/contract'
import type { Kept, KeptChange, KeptStore } from './decisions.ts'
import type { LIMITS } from './errors.ts'
import type { ApprovalRequest } from './requests.ts'
import type { ApprovalRow, ApprovalTables, DecisionRow } from './tables.ts'

/** Requests of a list that are over; those that wait have limits of their own. */
const MOST_LISTED = 200

type Writer = TableWriter<ApprovalTables>

/** The record of requests, and the yeses that calls may still use. Arguments are sealed, and erased with the decision. */
export class ApprovalStore implements KeptStore {
  readonly #context: PluginContext<unknown>
  /** Writes follow one another, so that the decision about a request comes after the request. */
  #writing: Promise<void> = Promise.resolve()

  constructor(context: PluginContext<unknown>) {
    this.#context = context
  }

  get #tables() {
    return this.#context.tables<ApprovalTables>()
  }

  /** Ends the requests that waited when the hub ended, and returns them. */
  endAll(): Promise<readonly ApprovalRow[]> {
    return this.#tables.write(async db => {
      const open = await db.selectFrom('approval').selectAll().where('state', '=', 'pending').execute()
      await db
        .updateTable('approval')
        .set({ state: 'expired', reason: 'restart', decided_at: new Date().toISOString(), sealed: null })
        .where('state', '=', 'pending')
        .execute()
      return open
    })
  }

  /** The yeses that still hold, the oldest first; those that do not are removed. */
  decisions(): Promise<readonly Kept[]> {
    return this.#tables.write(async db => {
      await prune(db)
      const rows = await db.selectFrom('decision').selectAll().orderBy('valid_until').execute()
      return rows.map(keptOf)
    })
  }

  /** Removes the yeses that have ended. */
  async prune(): Promise<void> {
    await this.#tables.write(prune)
  }

  /** Resolves when all that was kept before is in the database. */
  flush(): Promise<void> {
    return this.#writing
  }

  /** Keeps the present state of a request, and in the same transaction what becomes of decisions with it. */
  keep(request: ApprovalRequest, change?: KeptChange): void {
    const row = this.#rowOf(request)
    this.#queue(async db => {
      await this.#put(db, row)
      for (const kept of change?.dropped ?? []) await db.deleteFrom('decision').where('id', '=', idOf(kept)).execute()
      if (change?.added) await insert(db, change.added)
    })
  }

  /** A yes that was given back. */
  put(kept: Kept): void {
    this.#queue(db => insert(db, kept))
  }

  remove(key: string): Promise<boolean> {
    const removed = this.#writing.then(() =>
      this.#tables.write(async db => {
        const gone = await db.deleteFrom('decision').where('id', '=', key).executeTakeFirst()
        return gone.numDeletedRows > 0n
      }),
    )
    this.#writing = removed.then(
      () => undefined,
      () => undefined,
    )
    return removed
  }

  #queue(work: (db: Writer) => Promise<void>): void {
    this.#writing = this.#writing
      .then(() => this.#tables.write(work))
      .catch(error => this.#context.log.error('A request for a decision was not recorded', { error: String(error) }))
  }

  /**
   * Requests that a user made or decides, by itself or as a member of one of these teams. Those that wait come first, so that many
   * that are over hide none of them; of either the newest come first.
   */
  async list(
    userId: string,
    teamIds: readonly string[],
    state: ApprovalRow['state'] | undefined,
  ): Promise<readonly ApprovalRow[]> {
    await this.#writing
    return this.#tables.read(async db => {
      const own = db
        .selectFrom('approval')
        .selectAll()
        .where(({ or, eb }) =>
          or([
            eb('user_id', '=', userId),
            eb('decider_id', '=', userId),
            ...(teamIds.length === 0 ? [] : [eb('team_id', 'in', teamIds)]),
          ]),
        )
        .orderBy('created_at', 'desc')
      const open = state && state !== 'pending' ? [] : await own.where('state', '=', 'pending').execute()
      if (state === 'pending') return open
      const over = state ? own.where('state', '=', state) : own.where('state', '!=', 'pending')
      return [...open, ...(await over.limit(MOST_LISTED).execute())]
    })
  }

  async byId(id: string): Promise<ApprovalRow | undefined> {
    await this.#writing
    return this.#tables.read(db => db.selectFrom('approval').selectAll().where('id', '=', id).executeTakeFirst())
  }

  async #put(db: Writer, row: ApprovalRow): Promise<void> {
    const { approvalsPerUser } = this.#context.limits as typeof LIMITS
    const { id, ...rest } = row
    if (row.state !== 'pending') {
      await db.updateTable('approval').set(rest).where('id', '=', id).execute()
      return
    }
    await db.insertInto('approval').values(row).execute()
    const kept = await db
      .selectFrom('approval')
      .select(['id', 'state'])
      .where('user_id', '=', row.user_id)
      .orderBy('created_at', 'desc')
      .execute()
    for (const old of kept.slice(approvalsPerUser))
      if (old.state !== 'pending') await db.deleteFrom('approval').where('id', '=', old.id).execute()
  }

  #rowOf({
    id,
    asked,
    createdAtMs,
    expiresAtMs,
    count,
    state,
    decidedBy,
    decidedAtMs,
    note,
    reason,
  }: ApprovalRequest): ApprovalRow {
    const { caller, serverId, tool, client, ask, shown, teamId, group, called } = asked
    const isOpen = state === 'pending'
    const row = { id, user_id: caller.userId }
    const deciders = teamId === undefined ? ask.deciderId : caller.userId
    return {
      ...row,
      ...{ decider_id: deciders, server_id: serverId, who: ask.who, tool, client, count, state },
      ...{ team_id: teamId ?? null, reason: reason ?? null, via: group?.ref ?? null, called },
      created_at: new Date(createdAtMs).toISOString(),
      expires_at: new Date(expiresAtMs).toISOString(),
      decided_by: decidedBy ?? null,
      decided_at: decidedAtMs === undefined ? null : new Date(decidedAtMs).toISOString(),
      note: note ?? null,
      sealed: isOpen ? this.#context.sealing.seal('approval', row, JSON.stringify(shown)) : null,
    }
  }
}

async function prune(db: Writer): Promise<void> {
  await db.deleteFrom('decision').where('valid_until', '<=', new Date().toISOString()).execute()
}

async function insert(db: Writer, kept: Kept): Promise<void> {
  const { approvalId, userId, serverId, lasting, untilMs } = kept
  const id = idOf(kept)
  await db.deleteFrom('decision').where('id', '=', id).execute()
  const times = { valid_until: new Date(untilMs).toISOString() }
  const row = { id, user_id: userId, server_id: serverId, approval_id: approvalId, lasting: lasting ? 1 : 0, ...times }
  await db.insertInto('decision').values(row).execute()
}

/** The same key may have one of each kind. */
function idOf({ key, lasting }: Kept): string {
  return lasting ? `${key}+` : key
}

function keptOf({ id, user_id, server_id, approval_id, lasting, valid_until }: DecisionRow): Kept {
  return {
    ...{ key: lasting === 1 ? id.slice(0, -1) : id, approvalId: approval_id, userId: user_id, serverId: server_id },
    ...{ approved: true, stored: true, lasting: lasting === 1, untilMs: Date.parse(valid_until) },
  }
}
