import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { LIMITS } from '../../../core/config/limits.ts'
import { openSessionId, sealSessionId } from '../../../core/mcp/legacy/session-id.ts'
import { StoredSessions } from '../../../core/mcp/legacy/session-records.ts'
import { createSealer } from '../../../core/secrets/seal.ts'
import { openStore, type Store } from '../../../core/store/open.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

let folder: string
let store: Store
const warnings: string[] = []
const log = { debug() {}, info() {}, error() {}, warn: (message: string) => void warnings.push(message) }

beforeAll(async () => {
  folder = await makeTemp('session-records')
  store = await openStore({ dataDir: folder })
})

afterAll(async () => {
  await store.close()
  await removeTemp(folder)
})

describe('StoredSessions', () => {
  test('another process finds what is open, and nothing that has ended', async () => {
    const one = new StoredSessions(store.db, log)
    for (let n = 0; n < 1_200; n += 1) one.used(`open-${n}`, 1_000_000 + n)
    one.used('brief', 1)
    await one.flush()
    one.used('open-7', 2_000_000)
    await Promise.all([one.ended('brief'), one.ended('never')])
    const other = new StoredSessions(store.db, log)
    expect(await other.usedAt('open-7')).toBe(2_000_000)
    expect(await other.usedAt('open-1199')).toBe(1_001_199)
    expect(await other.usedAt('brief')).toBeUndefined()
    expect(await other.usedAt('unknown')).toBeUndefined()
  })

  test('a session whose end is on its way to the database is not open', async () => {
    const records = new StoredSessions(store.db, log)
    records.used('going', 5)
    await records.flush()
    const ending = records.ended('going')
    expect(await records.usedAt('going')).toBeUndefined()
    await ending
  })

  test('sweep() forgets what was idle for too long', async () => {
    const now = Date.now()
    const records = new StoredSessions(store.db, log, () => now)
    records.used('idle', now - LIMITS.sessionIdleMs - 1)
    records.used('fresh', now - LIMITS.sessionIdleMs + 1)
    await records.sweep()
    expect([await records.usedAt('idle'), await records.usedAt('fresh')]).toEqual([
      undefined,
      now - LIMITS.sessionIdleMs + 1,
    ])
  })

  test('changes that a failing database did not take are written by the next sweep', async () => {
    const broken = await openStore({ dataDir: folder })
    const records = new StoredSessions(broken.db, log, () => 10)
    records.used('late', 9)
    await records.flush()
    await broken.db.schema.alterTable('client_session').renameTo('away').execute()
    await records.ended('late')
    expect(warnings).toHaveLength(1)
    expect(await records.usedAt('late')).toBeUndefined()
    await broken.db.schema.alterTable('away').renameTo('client_session').execute()
    await records.sweep()
    expect(await new StoredSessions(store.db, log).usedAt('late')).toBeUndefined()
    await broken.close()
  })
})

describe('a sealed session id', () => {
  const sealer = createSealer([new Uint8Array(32).fill(7)])
  const bound = Buffer.alloc(16, 1)

  test('holds version and known capabilities, in at most 256 characters', () => {
    const capabilities = {
      sampling: { tools: {} },
      elicitation: { form: {}, url: {} },
      roots: { listChanged: true },
      experimental: { large: 'x'.repeat(100_000) },
    }
    const clientInfo = { name: 'n'.repeat(60), version: '1.2.3', title: 'left out' }
    const id = sealSessionId(sealer, {
      bound,
      wire: 'streamable-http',
      protocolVersion: '2025-06-18',
      capabilities,
      clientInfo,
    })
    expect(id).toMatch(/^[A-Za-z0-9_-]{1,256}$/)
    const { experimental: _, ...known } = capabilities
    expect(openSessionId(sealer, id)).toEqual({
      bound,
      wire: 'streamable-http',
      protocolVersion: '2025-06-18',
      capabilities: known,
      clientInfo: { name: 'n'.repeat(60), version: '1.2.3' },
    })
  })

  test('of a client with a long name leaves the name out', () => {
    const clientInfo = { name: 'n'.repeat(10_000), version: '1' }
    const id = sealSessionId(sealer, {
      bound,
      wire: 'sse',
      protocolVersion: '2024-11-05',
      capabilities: {},
      clientInfo,
    })
    expect(id.length).toBeLessThanOrEqual(256)
    expect(openSessionId(sealer, id)).toMatchObject({ wire: 'sse', capabilities: {}, clientInfo: {} })
  })

  test('opens for no other hub, and not when it was changed', () => {
    const id = sealSessionId(sealer, {
      bound,
      wire: 'sse',
      protocolVersion: '2024-11-05',
      capabilities: {},
      clientInfo: {},
    })
    const other = createSealer([new Uint8Array(32).fill(8)])
    expect(openSessionId(other, id)).toBeUndefined()
    expect(openSessionId(sealer, `${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`)).toBeUndefined()
    expect(openSessionId(sealer, 'x')).toBeUndefined()
  })
})
