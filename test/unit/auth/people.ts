import { createHash, randomBytes } from 'node:crypto'
import { HubError } from '../../../core/contract/errors.ts'
import type { KeyScope, Role } from '../../../core/contract/records.ts'
import type { EventBus } from '../../../core/events/bus.ts'
import type { AuditEntry, KeyRecord, Registry, UserRecord } from '../../../core/registry/api.ts'

type Row = { -readonly [K in keyof UserRecord]: UserRecord[K] } & { passwordHash: string | null }

/** Users, keys and audit in memory, with the events of the real registry, and nothing else of a registry. */
export class People {
  readonly rows: Row[] = []
  readonly keyRows: (KeyRecord & { hash: string })[] = []
  readonly audited: AuditEntry[] = []
  reads = 0
  /** Awaited within each look-up of a user, so that a test can change something in the middle of it. */
  duringRead: () => Promise<void> = async () => {}
  readonly #bus: EventBus

  constructor(bus: EventBus) {
    this.#bus = bus
  }

  add(name: string, role: Role = 'user', passwordHash: string | null = null): Row {
    const at = new Date().toISOString()
    const number = this.rows.length + 1
    const row: Row = {
      id: `u${number}`,
      number,
      name,
      role,
      disabled: false,
      mustChangePassword: false,
      grants: { network: 'none' },
      secondFactor: null,
      tokenEpoch: 1,
      origin: 'store',
      revision: 1,
      createdAt: at,
      updatedAt: at,
      passwordHash,
    }
    this.rows.push(row)
    this.#bus.emit('user.created', row.id, { userId: row.id, name })
    return row
  }

  change(row: Row, change: Partial<Row>): UserRecord {
    Object.assign(row, change, { revision: row.revision + 1 })
    this.#bus.emit('user.updated', row.id, { userId: row.id, name: row.name })
    return { ...row }
  }

  addKey(ownerId: string, scopes: readonly KeyScope[], expiresAt?: string): { key: KeyRecord; secret: string } {
    const secret = `pb_${randomBytes(32).toString('base64url')}`
    const key: KeyRecord = {
      id: `k${this.keyRows.length + 1}`,
      ownerId,
      label: 'key',
      last4: secret.slice(-4),
      scopes,
      createdAt: new Date().toISOString(),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    }
    this.keyRows.push({ ...key, hash: createHash('sha256').update(secret).digest('hex') })
    return { key, secret }
  }

  removeKey(id: string) {
    const at = this.keyRows.findIndex(key => key.id === id)
    const [gone] = at < 0 ? [] : this.keyRows.splice(at, 1)
    if (!gone) throw new HubError('key_not_found', 'No such access key')
    this.#bus.emit('key.removed', gone.ownerId, { keyId: id })
    return gone
  }

  #row(name: string): Row {
    const row = this.rows.find(each => each.name.toLowerCase() === name.toLowerCase())
    if (!row) throw new HubError('user_not_found', `There is no user "${name.slice(0, 64)}"`)
    return row
  }

  registry(): Registry {
    const users: Partial<Registry['users']> = {
      list: async () => [...this.rows],
      byName: async (_actor, name) => this.#row(name),
      byId: async id => {
        this.reads += 1
        const row = this.rows.find(each => each.id === id)
        const read = row && { ...row }
        await this.duringRead()
        return read
      },
      credentials: async name => {
        const row = this.rows.find(each => each.name.toLowerCase() === name.toLowerCase())
        return row && { user: row, passwordHash: row.passwordHash }
      },
      needsSetup: async () => !this.rows.some(row => row.role === 'admin'),
      completeSetup: async (name, hash) => this.add(name, 'admin', hash),
      create: async (_actor, input) => {
        const row = this.add(input.name, input.role, input.passwordHash)
        row.mustChangePassword = input.mustChangePassword ?? false
        return row
      },
      update: async (_actor, name, change) => {
        const row = this.#row(name)
        return this.change(row, { ...change, tokenEpoch: row.tokenEpoch + 1 })
      },
      remove: async (_actor, name) => {
        const row = this.#row(name)
        this.rows.splice(this.rows.indexOf(row), 1)
        this.#bus.emit('user.removed', row.id, { userId: row.id, name: row.name })
      },
      setPassword: async (id, passwordHash) => {
        const row = this.rows.find(each => each.id === id)
        if (!row) throw new HubError('user_not_found', 'No such user')
        return this.change(row, { passwordHash, tokenEpoch: row.tokenEpoch + 1, mustChangePassword: false })
      },
      rehash: async (id, passwordHash, { mustChange = false } = {}) => {
        const row = this.rows.find(each => each.id === id)
        if (!row) return
        row.passwordHash = passwordHash
        row.mustChangePassword ||= mustChange
      },
      hasImportedHashes: async () => this.rows.some(row => row.passwordHash?.startsWith('$2')),
    }
    const keys: Partial<Registry['keys']> = {
      list: async actor => this.keyRows.filter(key => actor.kind === 'user' && key.ownerId === actor.userId),
      create: async (actor, input) => {
        const scopes = input.scopes as unknown as KeyScope[]
        const made = this.addKey(actor.kind === 'user' ? actor.userId : '', scopes, input.expiresAt)
        return { ...made, scopes: input.scopes }
      },
      byHash: async hash => this.keyRows.find(key => key.hash === hash),
      remove: async (_actor, id) => this.removeKey(id),
      touch: () => {},
      publicScopes: async (_actor, key) => key.scopes as never,
    }
    const audit = { record: (_actor: unknown, entry: AuditEntry) => void this.audited.push(entry) }
    return { users, keys, audit } as unknown as Registry
  }
}
