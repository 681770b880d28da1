import type { PluginContext } from 'patchbay/contract'
import type { LIMITS } from './errors.ts'
import type { ApprovalRequest } from './requests.ts'
import type { ApprovalRow, ApprovalTables } from './tables.ts'

const MOST_LISTED = 200

/** The record of requests. Arguments are sealed, and erased with the decision. */
export class ApprovalStore {
  readonly #context: PluginContext<unknown>
  /** Writes follow one another, so that the decision about a request comes after the request. */
  #writing: Promise<void> = Promise.resolve()

  constructor(context: PluginContext<unknown>) {
    this.#context = context
  }

  get #tables() {
    return this.#context.tables<ApprovalTables>()
  }

  /** Marks requests that waited when the hub ended as expired. */
  async expireAll(): Promise<void> {
    await this.#tables.write(db =>
      db
        .updateTable('approval')
        .set({ state: 'expired', decided_at: new Date().toISOString(), sealed: null })
        .where('state', '=', 'pending')
        .execute(),
    )
  }

  /** Keeps the present state of a request. */
  keep(request: ApprovalRequest): Promise<void> {
    const row = this.#rowOf(request)
    this.#writing = this.#writing
      .then(() => this.#put(row))
      .catch(error => this.#context.log.error('A request for a decision was not recorded', { error: String(error) }))
    return this.#writing
  }

  /** The newest requests that a user made or decides; `all`: of everybody. */
  async list(userId: string, state: ApprovalRow['state'] | undefined, all: boolean): Promise<readonly ApprovalRow[]> {
    await this.#writing
    return this.#tables.read(db => {
      let query = db.selectFrom('approval').selectAll().orderBy('created_at', 'desc').limit(MOST_LISTED)
      if (!all) query = query.where(({ or, eb }) => or([eb('user_id', '=', userId), eb('decider_id', '=', userId)]))
      if (state) query = query.where('state', '=', state)
      return query.execute()
    })
  }

  async byId(id: string): Promise<ApprovalRow | undefined> {
    await this.#writing
    return this.#tables.read(db => db.selectFrom('approval').selectAll().where('id', '=', id).executeTakeFirst())
  }

  async #put(row: ApprovalRow): Promise<void> {
    const { approvalsPerUser } = this.#context.limits as typeof LIMITS
    const { id, ...rest } = row
    await this.#tables.write(async db => {
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
    })
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
  }: ApprovalRequest): ApprovalRow {
    const { callerId, serverId, tool, client, ask, shown } = asked
    const isOpen = state === 'pending'
    const row = { id, user_id: callerId }
    return {
      ...row,
      ...{ decider_id: ask.deciderId, server_id: serverId, who: ask.who, tool, client, count, state },
      created_at: new Date(createdAtMs).toISOString(),
      expires_at: new Date(expiresAtMs).toISOString(),
      decided_by: decidedBy ?? null,
      decided_at: decidedAtMs === undefined ? null : new Date(decidedAtMs).toISOString(),
      note: note ?? null,
      sealed: isOpen ? this.#context.sealing.seal('approval', row, JSON.stringify(shown)) : null,
    }
  }
}
