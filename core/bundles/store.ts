import { Buffer } from 'node:buffer'
import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import { quoteName } from '../domain/names.ts'
import { nextTurn } from '../domain/next-turn.ts'
import type { Owner } from '../registry/owners.ts'
import { freeDiskBytes, tooMuchOnDisk, withinStoredBytes } from '../registry/stored-bytes.ts'
import type { Store } from '../store/open.ts'
import { type Reader, read, type Writer, write } from '../store/transact.ts'
import type { ReadLimits } from './archive.ts'
import type { BundleManifest } from './manifest.ts'
import type { PlannedBundle } from './plan.ts'

/** Number of bytes that are written and read at a time: some milliseconds. */
const PART_BYTES = 1024 * 1024
/** Time for which a bundle is kept that no server of its owner uses, in milliseconds. */
const UNUSED_MS = 24 * 60 * 60_000

/** A stored bundle as its owner sees it. */
export interface StoredBundle extends PlannedBundle {
  readonly bytes: number
  /** Disk space of its files once it is unpacked; 0: not known yet. */
  readonly unpackedBytes: number
  /** ISO 8601 UTC; when it was sent or installed last. */
  readonly usedAt: string
  /** Names of the owner's servers that run it. */
  readonly servers: readonly string[]
}

/** The user who sends a bundle. */
export type BundleOwner = Pick<Owner, 'id' | 'name' | 'role'>

/** Bundles in the database; one stored copy for all users with the same file. */
export class BundleStore {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Bytes that a user's bundle may unpack to, beside its own bytes; undefined: no limit, or the user already has the bundle. */
  async room(owner: BundleOwner, id: string, bytes: number): Promise<ReadLimits['allowance']> {
    return read(this.#store, async db => {
      const owned = await db
        .selectFrom('bundle_owner')
        .select('sha256')
        .where('owner_id', '=', owner.id)
        .where('sha256', '=', id)
        .executeTakeFirst()
      const free = owned ? undefined : await freeDiskBytes(db, owner)
      if (free === undefined) return undefined
      const allowance = allowanceOf(owner.name, free - bytes)
      if (allowance.bytes < 0) throw allowance.refusal(0)
      return allowance
    })
  }

  /**
   * Limit for unpacking, from the account of a server's owner, who counts as one of the bundle's owners from then on; undefined:
   * no limit.
   */
  async allowance(ownerId: string, id: string): Promise<ReadLimits['allowance']> {
    return write(this.#store, async trx => {
      await trx
        .insertInto('bundle_owner')
        .values({ sha256: id, owner_id: ownerId, used_at: new Date().toISOString() })
        .onConflict(other => other.columns(['sha256', 'owner_id']).doNothing())
        .execute()
      const user = await trx
        .selectFrom('user')
        .select(['name', 'role'])
        .where('id', '=', ownerId)
        .executeTakeFirstOrThrow()
      const { unpacked_bytes: known } = await trx
        .selectFrom('bundle')
        .select('unpacked_bytes')
        .where('sha256', '=', id)
        .executeTakeFirstOrThrow()
      const free = await freeDiskBytes(trx, { id: ownerId, role: user.role })
      // Bytes already charged for this bundle may be used.
      return free === undefined ? undefined : allowanceOf(user.name ?? ownerId, Math.max(free, 0) + known)
    })
  }

  /** Stores the disk space of a bundle that an earlier version of the hub stored. */
  async unpacked(id: string, diskBytes: number): Promise<void> {
    await write(
      this.#store,
      async trx =>
        void (await trx
          .updateTable('bundle')
          .set({ unpacked_bytes: diskBytes })
          .where('sha256', '=', id)
          .where('unpacked_bytes', '<>', diskBytes)
          .execute()),
    )
  }

  /** Writes a bundle and gives it to a user; after an error no part of it is left. Throws `quota_bundles`, `quota_stored_bytes`. */
  async add(owner: BundleOwner, bundle: PlannedBundle, content: Buffer, unpackedBytes: number): Promise<void> {
    try {
      await this.#add(owner, bundle, content, unpackedBytes)
    } catch (error) {
      await write(this.#store, trx => removeOrphan(trx, bundle.id)).catch(() => undefined)
      throw error
    }
  }

  async #add(owner: BundleOwner, bundle: PlannedBundle, content: Buffer, unpackedBytes: number): Promise<void> {
    const { id, manifest, signed } = bundle
    const ownerId = owner.id
    await read(this.#store, db => checkQuota(db, ownerId, id))
    const isOwn = await read(this.#store, db =>
      db
        .selectFrom('bundle_owner')
        .select('sha256')
        .where('sha256', '=', id)
        .where('owner_id', '=', ownerId)
        .executeTakeFirst(),
    )
    // Written even if another user has the same bundle, so that the duration does not reveal it.
    if (!isOwn) await this.#writeParts(id, content)
    const row = {
      ...{ sha256: id, bytes: content.length, manifest: JSON.stringify(manifest), signed: signed ? 1 : 0 },
      unpacked_bytes: unpackedBytes,
    }
    await write(this.#store, async trx => {
      await checkQuota(trx, ownerId, id)
      await withinStoredBytes(trx, owner, async () => {
        await trx
          .insertInto('bundle')
          .values(row)
          .onConflict(other => other.column('sha256').doUpdateSet({ unpacked_bytes: unpackedBytes }))
          .execute()
        await touch(trx, ownerId, id)
      })
    })
  }

  async #writeParts(sha256: string, content: Buffer): Promise<void> {
    for (let part = 0; part * PART_BYTES < content.length; part += 1) {
      await nextTurn()
      const piece = content.subarray(part * PART_BYTES, (part + 1) * PART_BYTES)
      const row = { sha256, part, content: piece }
      // Remaining parts, of another user or of a hub that ended in the middle, are removed first: SQLite skips the
      // pages of an update that stay the same, and the duration would reveal that another user has the bundle.
      await write(this.#store, async trx => {
        await trx.deleteFrom('bundle_part').where('sha256', '=', sha256).where('part', '=', part).execute()
        await trx.insertInto('bundle_part').values(row).execute()
      })
    }
  }

  /** Marks it as used now, so that it stays until its server is there. */
  async touch(ownerId: string, id: string): Promise<void> {
    await write(this.#store, trx => touch(trx, ownerId, id))
  }

  /** A user's bundles, the last used first, without those that {@link sweep} removes. Writes nothing. */
  async list(ownerId: string, now = Date.now()): Promise<readonly StoredBundle[]> {
    const before = unusedBefore(now)
    const rows = await read(this.#store, db =>
      db
        .selectFrom('bundle_owner')
        .innerJoin('bundle', 'bundle.sha256', 'bundle_owner.sha256')
        .select([
          'bundle.sha256',
          'bundle.bytes',
          'bundle.unpacked_bytes',
          'bundle.manifest',
          'bundle.signed',
          'bundle_owner.used_at',
        ])
        .where('owner_id', '=', ownerId)
        .orderBy('used_at', 'desc')
        .orderBy('bundle.sha256')
        .execute(),
    )
    const found: StoredBundle[] = []
    for (const { sha256, bytes, unpacked_bytes: unpackedBytes, manifest, signed, used_at } of rows) {
      const servers = await read(this.#store, db => serversWith(db, sha256, ownerId))
      if (used_at < before && servers.length === 0) continue
      const read_ = JSON.parse(manifest) as BundleManifest
      found.push({ id: sha256, manifest: read_, signed: signed === 1, bytes, unpackedBytes, usedAt: used_at, servers })
    }
    return found
  }

  /** Throws `bundle_not_found`. */
  async get(ownerId: string, id: string): Promise<StoredBundle> {
    const found = (await this.list(ownerId)).find(one => one.id === id)
    if (found) return found
    throw new HubError('bundle_not_found', `You have no bundle ${quoteName(id)}`)
  }

  /** Takes a bundle from a user. Throws `bundle_not_found`, `bundle_in_use`. */
  async remove(ownerId: string, id: string): Promise<void> {
    const { servers } = await this.get(ownerId, id)
    if (servers.length > 0) {
      throw new HubError('bundle_in_use', `The server ${quoteName(servers[0] ?? '')} runs this bundle`)
    }
    await write(this.#store, async trx => {
      await trx.deleteFrom('bundle_owner').where('sha256', '=', id).where('owner_id', '=', ownerId).execute()
      await removeOrphan(trx, id)
    })
  }

  /** The file; undefined when it is not there. */
  async content(id: string): Promise<Buffer | undefined> {
    const row = await read(this.#store, db =>
      db.selectFrom('bundle').select('bytes').where('sha256', '=', id).executeTakeFirst(),
    )
    if (!row) return undefined
    const content = Buffer.allocUnsafe(row.bytes)
    let length = 0
    for (let part = 0; length < row.bytes; part += 1) {
      const piece = await read(this.#store, db =>
        db
          .selectFrom('bundle_part')
          .select('content')
          .where('sha256', '=', id)
          .where('part', '=', part)
          .executeTakeFirst(),
      )
      if (!piece) return undefined
      content.set(piece.content, length)
      length += piece.content.length
      await nextTurn()
    }
    return content
  }

  /** Removes parts without a bundle, which a hub has left that ended in the middle. Not while a bundle is written. */
  async sweepParts(): Promise<void> {
    const known = (db: Reader) => db.selectFrom('bundle').select('sha256')
    const lost = await read(this.#store, db =>
      db.selectFrom('bundle_part').select('sha256').distinct().where('sha256', 'not in', known(db)).execute(),
    )
    for (const { sha256 } of lost) await write(this.#store, trx => removeOrphan(trx, sha256))
  }

  /** Removes bundles that no server has used for a day, and those of removed users. */
  async sweep(now: number): Promise<void> {
    const before = unusedBefore(now)
    const old = await read(this.#store, db =>
      db.selectFrom('bundle_owner').select(['sha256', 'owner_id']).where('used_at', '<', before).execute(),
    )
    for (const { sha256, owner_id } of old) {
      await write(this.#store, async trx => {
        if ((await serversWith(trx, sha256, owner_id)).length > 0) return
        await trx
          .deleteFrom('bundle_owner')
          .where('sha256', '=', sha256)
          .where('owner_id', '=', owner_id)
          .where('used_at', '<', before)
          .execute()
      })
    }
    const unowned = await read(this.#store, db =>
      db
        .selectFrom('bundle')
        .select('sha256')
        .where('sha256', 'not in', db.selectFrom('bundle_owner').select('sha256'))
        .execute(),
    )
    for (const { sha256 } of unowned) await write(this.#store, trx => removeOrphan(trx, sha256))
  }
}

/** A bundle that was used before this time and that no server runs is removed. */
function unusedBefore(now: number): string {
  return new Date(now - UNUSED_MS).toISOString()
}

function allowanceOf(name: string, bytes: number): NonNullable<ReadLimits['allowance']> {
  return { bytes, refusal: wanted => tooMuchOnDisk(name, LIMITS.diskBytesPerUser - bytes + wanted) }
}

async function checkQuota(db: Reader, ownerId: string, id: string): Promise<void> {
  const owned = await db.selectFrom('bundle_owner').select('sha256').where('owner_id', '=', ownerId).execute()
  if (owned.some(({ sha256 }) => sha256 === id) || owned.length < LIMITS.bundlesPerUser) return
  throw new HubError('quota_bundles', `You have ${owned.length} bundles, the most that one user may have`)
}

async function touch(trx: Writer, ownerId: string, id: string): Promise<void> {
  const row = { sha256: id, owner_id: ownerId, used_at: new Date().toISOString() }
  await trx
    .insertInto('bundle_owner')
    .values(row)
    .onConflict(other => other.columns(['sha256', 'owner_id']).doUpdateSet({ used_at: row.used_at }))
    .execute()
}

/** Names of the servers that run a bundle, of one owner or of all. */
async function serversWith(db: Reader, id: string, ownerId?: string): Promise<string[]> {
  // Quotes inside of values are escaped in JSON, so that no other text looks like this.
  const using = db.selectFrom('server').select('name').where('config', 'like', `%"bundle":"${id}"%`)
  const rows = await (ownerId === undefined ? using : using.where('owner_id', '=', ownerId)).execute()
  return rows.map(({ name }) => name)
}

async function removeOrphan(trx: Writer, id: string): Promise<void> {
  const owner = await trx.selectFrom('bundle_owner').select('owner_id').where('sha256', '=', id).executeTakeFirst()
  if (owner || (await serversWith(trx, id)).length > 0) return
  await trx.deleteFrom('bundle').where('sha256', '=', id).execute()
  await trx.deleteFrom('bundle_part').where('sha256', '=', id).execute()
}
