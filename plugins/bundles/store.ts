import { Buffer } from 'node:buffer'
import { HubError, type Role } from 'patchbay/contract'
import type { PluginPeople, PluginServers } from 'patchbay/features'
import { nextTurn, quoteName } from 'patchbay/plugin-kit'
import type { ReadLimits } from './archive.ts'
import { bundleError } from './errors.ts'
import type { BundleManifest } from './manifest.ts'
import type { PlannedBundle } from './plan.ts'
import type { Reader, Tables, Writer } from './tables.ts'
import type { BundleLimits } from './types.ts'

/** The member of a server's configuration that names its bundle. */
export const FIELD = 'bundle'

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
export interface BundleOwner {
  readonly id: string
  readonly name: string
  readonly role: Role
}

/** Dependencies of the store. */
export interface BundleStoreParts {
  readonly tables: Tables
  readonly servers: Pick<PluginServers, 'running'>
  readonly people: Pick<PluginPeople, 'byId'>
  readonly limits: BundleLimits
}

/** Bundles in the database; one stored copy for all users with the same file. */
export class BundleStore {
  readonly #tables: Tables
  readonly #servers: BundleStoreParts['servers']
  readonly #people: BundleStoreParts['people']
  readonly #limits: BundleLimits

  constructor({ tables, servers, people, limits }: BundleStoreParts) {
    this.#tables = tables
    this.#servers = servers
    this.#people = people
    this.#limits = limits
  }

  /** True when a user has the bundle. */
  async has(ownerId: string, id: string): Promise<boolean> {
    return (await this.#tables.read(db => ownerRow(db, ownerId, id))) !== undefined
  }

  /** Bytes of a user's bundles, packed and unpacked. */
  diskBytes(ownerId: string): Promise<number> {
    return this.#tables.read(db => diskBytes(db, ownerId))
  }

  /** Bytes that a user's bundle may unpack to, beside its own bytes; undefined: no limit, or the user already has the bundle. */
  async room(owner: BundleOwner, id: string, bytes: number): Promise<ReadLimits['allowance']> {
    if (owner.role === 'admin' || (await this.has(owner.id, id))) return undefined
    const free = this.#limits.diskBytesPerUser - (await this.diskBytes(owner.id))
    const allowance = this.#allowanceOf(owner.name, free - bytes)
    if (allowance.bytes < 0) throw allowance.refusal(0)
    return allowance
  }

  /**
   * Limit for unpacking, from the account of a server's owner, who counts as one of the bundle's owners from then on; undefined:
   * no limit.
   */
  async allowance(ownerId: string, id: string): Promise<ReadLimits['allowance']> {
    const owner = await this.#people.byId(ownerId)
    return this.#tables.write(async trx => {
      await trx
        .insertInto('owners')
        .values({ sha256: id, owner_id: ownerId, used_at: new Date().toISOString() })
        .onConflict(other => other.columns(['sha256', 'owner_id']).doNothing())
        .execute()
      if (owner?.role === 'admin') return undefined
      const { unpacked_bytes: known } = await trx
        .selectFrom('files')
        .select('unpacked_bytes')
        .where('sha256', '=', id)
        .executeTakeFirstOrThrow()
      const free = this.#limits.diskBytesPerUser - (await diskBytes(trx, ownerId))
      // Bytes already charged for this bundle may be used.
      return this.#allowanceOf(owner?.name ?? ownerId, Math.max(free, 0) + known)
    })
  }

  /** Stores the disk space of a bundle that an earlier version of the hub stored. */
  async unpacked(id: string, bytes: number): Promise<void> {
    await this.#tables.write(async trx => {
      const changed = trx.updateTable('files').set({ unpacked_bytes: bytes }).where('sha256', '=', id)
      await changed.where('unpacked_bytes', '<>', bytes).execute()
    })
  }

  /** Writes a bundle and gives it to a user; after an error no part of it is left. Throws `quota_bundles`, `quota_stored_bytes`. */
  async add(owner: BundleOwner, bundle: PlannedBundle, content: Buffer, unpackedBytes: number): Promise<void> {
    try {
      await this.#add(owner, bundle, content, unpackedBytes)
    } catch (error) {
      await this.#removeOrphan(bundle.id).catch(() => undefined)
      throw error
    }
  }

  async #add(owner: BundleOwner, bundle: PlannedBundle, content: Buffer, unpackedBytes: number): Promise<void> {
    const { id, manifest, signed } = bundle
    const ownerId = owner.id
    await this.#tables.read(db => this.#checkQuota(db, ownerId, id))
    const isOwn = await this.has(ownerId, id)
    // Written even if another user has the same bundle, so that the duration does not reveal it.
    if (!isOwn) await this.#writeParts(id, content)
    const row = {
      ...{ sha256: id, bytes: content.length, manifest: JSON.stringify(manifest), signed: signed ? 1 : 0 },
      unpacked_bytes: unpackedBytes,
    }
    await this.#tables.write(async trx => {
      await this.#checkQuota(trx, ownerId, id)
      const before = await diskBytes(trx, ownerId)
      await trx
        .insertInto('files')
        .values(row)
        .onConflict(other => other.column('sha256').doUpdateSet({ unpacked_bytes: unpackedBytes }))
        .execute()
      await touch(trx, ownerId, id)
      const after = await diskBytes(trx, ownerId)
      const isTooMuch = after > before && after > this.#limits.diskBytesPerUser
      if (owner.role !== 'admin' && isTooMuch) throw this.#tooMuch(owner.name, after)
    })
  }

  async #writeParts(sha256: string, content: Buffer): Promise<void> {
    for (let part = 0; part * PART_BYTES < content.length; part += 1) {
      await nextTurn()
      const piece = content.subarray(part * PART_BYTES, (part + 1) * PART_BYTES)
      const row = { sha256, part, content: piece }
      // Remaining parts, of another user or of a hub that ended in the middle, are removed first: SQLite skips the
      // pages of an update that stay the same, and the duration would reveal that another user has the bundle.
      await this.#tables.write(async trx => {
        await trx.deleteFrom('parts').where('sha256', '=', sha256).where('part', '=', part).execute()
        await trx.insertInto('parts').values(row).execute()
      })
    }
  }

  /** Marks it as used now, so that it stays until its server is there. */
  async touch(ownerId: string, id: string): Promise<void> {
    await this.#tables.write(trx => touch(trx, ownerId, id))
  }

  /** A user's bundles, the last used first, without those that {@link sweep} removes. Writes nothing. */
  async list(ownerId: string, now = Date.now()): Promise<readonly StoredBundle[]> {
    const before = unusedBefore(now)
    const rows = await this.#tables.read(db =>
      db
        .selectFrom('owners')
        .innerJoin('files', 'files.sha256', 'owners.sha256')
        .select([
          'files.sha256',
          'files.bytes',
          'files.unpacked_bytes',
          'files.manifest',
          'files.signed',
          'owners.used_at',
        ])
        .where('owner_id', '=', ownerId)
        .orderBy('used_at', 'desc')
        .orderBy('files.sha256')
        .execute(),
    )
    const found: StoredBundle[] = []
    for (const { sha256, bytes, unpacked_bytes: unpackedBytes, manifest, signed, used_at } of rows) {
      const servers = await this.#servers.running(FIELD, sha256, ownerId)
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
    throw bundleError('bundle_not_found', `You have no bundle ${quoteName(id)}`)
  }

  /** Takes a bundle from a user. Throws `bundle_not_found`, `bundle_in_use`. */
  async remove(ownerId: string, id: string): Promise<void> {
    const { servers } = await this.get(ownerId, id)
    if (servers.length > 0) {
      throw bundleError('bundle_in_use', `The server ${quoteName(servers[0] ?? '')} runs this bundle`)
    }
    await this.#tables.write(async trx => {
      await trx.deleteFrom('owners').where('sha256', '=', id).where('owner_id', '=', ownerId).execute()
    })
    await this.#removeOrphan(id)
  }

  /** The file; undefined when it is not there. */
  async content(id: string): Promise<Buffer | undefined> {
    const row = await this.#tables.read(db =>
      db.selectFrom('files').select('bytes').where('sha256', '=', id).executeTakeFirst(),
    )
    if (!row) return undefined
    const content = Buffer.allocUnsafe(row.bytes)
    let length = 0
    for (let part = 0; length < row.bytes; part += 1) {
      const piece = await this.#tables.read(db =>
        db.selectFrom('parts').select('content').where('sha256', '=', id).where('part', '=', part).executeTakeFirst(),
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
    const known = (db: Reader) => db.selectFrom('files').select('sha256')
    const lost = await this.#tables.read(db =>
      db.selectFrom('parts').select('sha256').distinct().where('sha256', 'not in', known(db)).execute(),
    )
    for (const { sha256 } of lost) await this.#removeOrphan(sha256)
  }

  async #removeOrphan(id: string): Promise<void> {
    if ((await this.#servers.running(FIELD, id)).length > 0) return
    await this.#tables.write(async trx => {
      const owner = await trx.selectFrom('owners').select('owner_id').where('sha256', '=', id).executeTakeFirst()
      if (owner) return
      await trx.deleteFrom('files').where('sha256', '=', id).execute()
      await trx.deleteFrom('parts').where('sha256', '=', id).execute()
    })
  }

  async #checkQuota(db: Reader, ownerId: string, id: string): Promise<void> {
    const owned = await db.selectFrom('owners').select('sha256').where('owner_id', '=', ownerId).execute()
    if (owned.some(({ sha256 }) => sha256 === id) || owned.length < this.#limits.bundlesPerUser) return
    throw bundleError('quota_bundles', `You have ${owned.length} bundles, the most that one user may have`)
  }

  #allowanceOf(name: string, bytes: number): NonNullable<ReadLimits['allowance']> {
    const most = this.#limits.diskBytesPerUser
    return { bytes, refusal: wanted => this.#tooMuch(name, most - bytes + wanted) }
  }

  /** The error for a user whose bundles would take too much; `bytes`: of all of them, packed and unpacked. */
  #tooMuch(name: string, bytes: number): HubError {
    const message = `The bundles of one user may take ${this.#limits.diskBytesPerUser} bytes, packed and unpacked (diskBytesPerUser), and with this one those of ${name} would take ${bytes}`
    const hint = 'Remove servers and bundles that you do not need; GET /api/limits has what you use.'
    return new HubError('quota_stored_bytes', message, { hint })
  }

  /** Removes bundles that no server has used for a day, and those of removed users. */
  async sweep(now: number): Promise<void> {
    const before = unusedBefore(now)
    const old = await this.#tables.read(db =>
      db.selectFrom('owners').select(['sha256', 'owner_id']).where('used_at', '<', before).execute(),
    )
    for (const { sha256, owner_id } of old) {
      if ((await this.#servers.running(FIELD, sha256, owner_id)).length > 0) continue
      await this.#tables.write(async trx => {
        await trx
          .deleteFrom('owners')
          .where('sha256', '=', sha256)
          .where('owner_id', '=', owner_id)
          .where('used_at', '<', before)
          .execute()
      })
    }
    const unowned = await this.#tables.read(db =>
      db
        .selectFrom('files')
        .select('sha256')
        .where('sha256', 'not in', db.selectFrom('owners').select('sha256'))
        .execute(),
    )
    for (const { sha256 } of unowned) await this.#removeOrphan(sha256)
  }
}

/** A bundle that was used before this time and that no server runs is removed. */
function unusedBefore(now: number): string {
  return new Date(now - UNUSED_MS).toISOString()
}

async function ownerRow(db: Reader, ownerId: string, id: string) {
  const row = db.selectFrom('owners').select('sha256').where('sha256', '=', id)
  return row.where('owner_id', '=', ownerId).executeTakeFirst()
}

/** The database has the lengths without reading the values. */
async function diskBytes(db: Reader, ownerId: string): Promise<number> {
  const { sum } = await db
    .selectFrom('owners')
    .innerJoin('files', 'files.sha256', 'owners.sha256')
    .where('owners.owner_id', '=', ownerId)
    .select(({ eb, fn, ref }) =>
      fn
        .sum<number | string | null>(
          eb(
            eb(ref('files.bytes'), '+', ref('files.unpacked_bytes')),
            '+',
            fn<number>('octet_length', [ref('files.manifest')]),
          ),
        )
        .as('sum'),
    )
    .executeTakeFirstOrThrow()
  return Number(sum ?? 0)
}

async function touch(trx: Writer, ownerId: string, id: string): Promise<void> {
  const row = { sha256: id, owner_id: ownerId, used_at: new Date().toISOString() }
  await trx
    .insertInto('owners')
    .values(row)
    .onConflict(other => other.columns(['sha256', 'owner_id']).doUpdateSet({ used_at: row.used_at }))
    .execute()
}
