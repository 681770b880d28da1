import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { HubError } from '../../../core/contract/errors.ts'
import type { UserActor } from '../../../core/contract/records.ts'
import { EventBus } from '../../../core/events/bus.ts'
import type { HubEvent } from '../../../core/events/catalog.ts'
import { RECORD_KINDS } from '../../../core/hub/record-kinds.ts'
import type { Registry } from '../../../core/registry/api.ts'
import type { RegistryDeps } from '../../../core/registry/context.ts'
import { createRegistry, type OpenRegistry } from '../../../core/registry/create.ts'
import { createSealer } from '../../../core/secrets/seal.ts'
import { openStore, type Store } from '../../../core/store/open.ts'
import { putReadyStore } from '../../support/ready-store.ts'
import { bundledTransports } from '../../support/transports.ts'

/** A registry on a real database in a folder of its own: the administrator ada, and the users bob and cleo. */
export interface World extends OpenRegistry {
  readonly store: Store
  readonly events: HubEvent[]
  readonly dataDir: string
  readonly ada: UserActor
  readonly bob: UserActor
  readonly cleo: UserActor
  end(): Promise<void>
}

export async function openWorld(changes: Partial<RegistryDeps> = {}): Promise<World> {
  const bare = await openBareWorld(changes)
  const ada = await setUp(bare.registry)
  const make = async (name: string) => {
    const user = await bare.registry.users.create(ada, { name, passwordHash: `hash of ${name}`, role: 'user' })
    return actor(user.id, name, 'user')
  }
  const world = { ...bare, ada, bob: await make('bob'), cleo: await make('cleo') }
  world.events.length = 0
  return world
}

/** The same world before set-up, without people. */
export async function openBareWorld(changes: Partial<RegistryDeps> = {}): Promise<Omit<World, 'ada' | 'bob' | 'cleo'>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'patchbay-registry-'))
  const database = await ownDatabase()
  if (database === undefined) await putReadyStore(dataDir)
  const store = await openStore({ dataDir, ...(database ? { databaseUrl: database.url } : {}) })
  const events: HubEvent[] = []
  const bus = new EventBus(error => {
    throw error
  })
  bus.on('*', event => events.push(event))
  const opened = createRegistry({
    ...{ store, bus, sealer: createSealer([randomBytes(32)]), outboundAllow: [], transports: bundledTransports() },
    kinds: { all: () => RECORD_KINDS },
    stdio: () => ({ policy: 'sandboxed', level: 'none' }),
    ...changes,
  })
  return {
    ...{ ...opened, store, events, dataDir },
    async end() {
      await opened.close()
      await store.close()
      database?.release()
      await rm(dataDir, { recursive: true })
    },
  }
}

/** Databases that are not in use: to make one costs a hundred times as much as to empty it. */
const unused: string[] = []

/**
 * With TEST_DATABASE_URL (`postgres://…/postgres`) the same tests run on PostgreSQL, each world in a database that is its own
 * for as long as it lives. The databases stay: the server is one for tests alone.
 */
async function ownDatabase(): Promise<{ url: string; release(): void } | undefined> {
  const server = process.env.TEST_DATABASE_URL
  if (server === undefined) return undefined
  const run = async (url: string, statement: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(statement)
    await client.end()
  }
  const used = unused.pop()
  const url = new URL(server)
  url.pathname = used ?? `/world_${randomBytes(6).toString('hex')}`
  if (used) await run(url.href, 'drop schema public cascade; create schema public')
  else await run(server, `create database ${url.pathname.slice(1)}`)
  return { url: url.href, release: () => void unused.push(url.pathname) }
}

export async function setUp(registry: Registry): Promise<UserActor> {
  const user = await registry.users.completeSetup('ada', 'hash of ada')
  return actor(user.id, 'ada', 'admin')
}

export function actor(userId: string, name: string, role: 'admin' | 'user'): UserActor {
  return { kind: 'user', userId, name, role, credential: { kind: 'local' } }
}

/** The HubError that some work ends with. */
export async function refusal(work: Promise<unknown>): Promise<HubError> {
  try {
    await work
  } catch (error) {
    if (error instanceof HubError) return error
    throw error
  }
  throw new Error('Nothing was refused')
}

/** `code pointer` of each wrong field. */
export async function wrongFields(work: Promise<unknown>): Promise<string[]> {
  const error = await refusal(work)
  if (error.code !== 'validation_failed') throw error
  return (error.errors ?? []).map(({ code, pointer }) => `${code} ${pointer}`)
}
