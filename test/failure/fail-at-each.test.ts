import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Answer } from '../support/client.ts'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, PASSWORD, startHub } from '../support/hub.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

/** More operations than any of these needs; a loop that comes here does not end. */
const MOST = 120
const ENV = { BUN_OPTIONS: `--preload ${join(import.meta.dir, 'fixtures/fail-at.cjs')}` }

let hub: Hub
let admin: Client
/** A second user who reads, so that both stay within the limits of requests. */
let reader: Client

beforeAll(async () => {
  const control = join(await makeTemp('fail-at'), 'plan.json')
  hub = await startHub({
    env: { ...ENV, FAIL_AT: control },
    settings: { mcpServers: { filed: { ...known('echo'), enabled: false }, echo: known('echo') } },
  })
  controlFile = control
  admin = await hub.setup()
  reader = await hub.user('reader', 'admin')
  await online(admin, ['echo'])
  await admin.ok('POST', '/api/servers', { name: 'kept', command: 'true', enabled: false })
  await admin.ok('POST', '/api/groups', { name: 'g', members: ['kept'] })
}, 120_000)

let controlFile = ''

afterAll(async () => {
  await hub?.stop()
  await removeTemp(join(controlFile, '..'))
}, 120_000)

interface Plan {
  readonly kind: 'file' | 'database' | 'spawn' | 'none'
  readonly at: number
  readonly code: string
  readonly stays: boolean
}

const occurrences = (text: string): number => hub.log().split(text).length - 1

async function arm(plan: Plan): Promise<void> {
  const before = occurrences('FAIL-AT armed')
  await writeFile(controlFile, JSON.stringify(plan))
  process.kill(hub.pid, 'SIGUSR2')
  await until(() => occurrences('FAIL-AT armed') > before, { what: 'the plan to be read' })
}

/** Repeats a request when the limits of requests say so. */
async function ask(client: Client, method: string, path: string, body?: unknown): Promise<Answer> {
  for (;;) {
    const answer = await client.request(method, path, body)
    if (answer.status !== 429) return answer
    // This waits as long as the answer says, on any machine.
    await Bun.sleep(Number(answer.headers.get('retry-after') ?? 1) * 1_000)
  }
}

async function items(path: string, ...fields: readonly string[]): Promise<unknown[]> {
  const { items: all } = (await ask(reader, 'GET', path)).json
  return all.map((item: Record<string, unknown>) => fields.map(field => item[field]))
}

interface Operation {
  readonly name: string
  /** Makes what the change needs, before anything fails. */
  prepare?(): Promise<unknown>
  /** The change, with a different number in each round. */
  run(n: number): Promise<Answer>
  /** The present state of the thing that is changed. */
  state(): Promise<unknown>
  /** Undoes the change. */
  undo?(answer: Answer): Promise<unknown>
}

const servers = () => items('/api/servers?scope=all', 'owner', 'name', 'description', 'enabled', 'visibility')
const keys = async () => (await ask(admin, 'GET', '/api/keys')).json.items.map((key: { id: string }) => key.id)
const groups = () => items('/api/groups?scope=all', 'name', 'description', 'members')
let key = ''
let rounds = 0

async function makeKey(): Promise<void> {
  if ((await keys()).includes(key)) return
  key = (await ask(admin, 'POST', '/api/keys', { label: 'old', scopes: ['mcp', { group: 'g' }] })).json.id
}

const OPERATIONS: readonly Operation[] = [
  {
    name: 'a user is made',
    run: n => ask(admin, 'POST', '/api/admin/users', { username: `user-${n}`, password: PASSWORD }),
    state: () => items('/api/admin/users', 'username', 'role'),
  },
  {
    name: 'a server is made',
    run: () =>
      ask(admin, 'POST', '/api/servers', {
        name: 'new',
        command: 'true',
        enabled: false,
        secrets: [],
        env: { API_KEY: 'a secret value' },
      }),
    state: servers,
    undo: () => ask(admin, 'DELETE', '/api/servers/new'),
  },
  {
    name: 'a server is edited',
    run: n => ask(admin, 'PATCH', '/api/servers/kept', { description: `round ${n}` }),
    state: servers,
  },
  {
    name: 'a server is deleted',
    prepare: () => ask(admin, 'POST', '/api/servers', { name: 'victim', command: 'true', enabled: false }),
    run: () => ask(admin, 'DELETE', '/api/servers/victim'),
    state: servers,
  },
  {
    name: 'a group is edited',
    run: n =>
      ask(admin, 'PATCH', '/api/groups/g', {
        members: n % 2 === 0 ? ['kept'] : ['kept', 'echo'],
        description: `round ${n}`,
      }),
    state: groups,
  },
  {
    name: 'a group is made',
    run: () => ask(admin, 'POST', '/api/groups', { name: 'new', members: ['kept'] }),
    state: groups,
    undo: () => ask(admin, 'DELETE', '/api/groups/new'),
  },
  {
    name: 'a key is made',
    run: () => ask(admin, 'POST', '/api/keys', { label: 'new', scopes: ['mcp', { group: 'g' }, { server: 'kept' }] }),
    state: keys,
    undo: answer => ask(admin, 'DELETE', `/api/keys/${answer.json.id}`),
  },
  {
    name: 'a key is given a new secret',
    prepare: makeKey,
    run: () => ask(admin, 'POST', `/api/keys/${key}/rotate`),
    state: async () => (await ask(admin, 'GET', '/api/keys')).json.items,
  },
  {
    name: 'a key is revoked',
    run: () => ask(admin, 'DELETE', `/api/keys/${key}`),
    state: keys,
    prepare: makeKey,
  },
]

/** The suite tries one operation with each code: several writes in one transaction, an edit, and a single creation. */
const CORE = ['a server is made', 'a server is edited', 'a key is made']

/** Lets the n-th operation fail, n = 1, 2, … until none does. Returns how often it failed. */
async function failAtEach(operation: Operation, plan: Omit<Plan, 'at'>, codes: readonly string[]): Promise<number> {
  for (let at = 1; at <= MOST; at += 1) {
    await operation.prepare?.()
    const before = await operation.state()
    const fired = occurrences('FAIL-AT fired')
    await arm({ ...plan, at })
    rounds += 1
    const answer = await operation.run(rounds)
    await arm({ kind: 'none', at: 0, code: '', stays: false })
    const failed = occurrences('FAIL-AT fired') > fired
    const after = await operation.state()
    const what = `${plan.code} at ${at} (${hub.log().split('FAIL-AT fired ').at(-1)?.split('\n')[0]}): ${answer.status} ${answer.text.slice(0, 200)}`
    if (answer.status < 300) {
      expect({ what, after }).not.toEqual({ what, after: before })
      await operation.undo?.(answer)
    } else {
      expect({ what, code: codes.includes(answer.json.code) }).toEqual({ what, code: true })
      expect({ what, after }).toEqual({ what, after: before })
    }
    if (!failed) {
      expect({ what, done: answer.status < 300 }).toEqual({ what, done: true })
      return at - 1
    }
  }
  throw new Error(`${operation.name}: it failed ${MOST} times and did not come to its end`)
}

async function stillLives(): Promise<void> {
  expect((await reader.request('GET', '/health')).status).toBe(200)
  expect(await callText(await admin.mcp('/mcp/echo'), 'echo', { text: 'on' })).toBe('on')
  expect(hub.unhandled()).toEqual([])
}

describe('the n-th statement fails:', () => {
  const CODES = [
    ['SQLITE_FULL', true, ['storage_full']],
    ['SQLITE_BUSY', true, ['storage_busy']],
    ['SQLITE_IOERR', false, ['storage_unavailable']],
  ] as const
  for (const [turn, [code, stays, codes]] of CODES.entries()) {
    // The suite tries each of these with one of the codes.
    const inCore = (name: string, nth: number) => nth % CODES.length === turn && CORE.includes(name)
    for (const operation of OPERATIONS.filter(({ name }, nth) => extent(inCore(name, nth), true))) {
      test(`${operation.name}, ${code}: refused and unchanged, or acknowledged and kept`, async () => {
        expect(await failAtEach(operation, { kind: 'database', code, stays }, codes)).toBeGreaterThan(0)
        await stillLives()
      }, 300_000)
    }
  }
})

describe('the n-th file operation fails:', () => {
  const settingsText = () => readFile(hub.settingsFile, 'utf8')
  const CODES = [
    ['ENOSPC', ['storage_full', 'settings_read_only']],
    ['EIO', ['storage_unavailable', 'internal', 'settings_read_only']],
    ['EDQUOT', ['storage_full', 'settings_read_only']],
    ['EMFILE', ['storage_unavailable', 'internal', 'settings_read_only']],
  ] as const
  for (const [code, refusal] of extent<readonly (typeof CODES)[number][]>(CODES.slice(0, 1), CODES)) {
    test(`an entry of the settings file is edited, ${code}: the file is whole, old or new`, async () => {
      const edit: Operation = {
        name: 'an entry of the settings file is edited',
        run: n => ask(admin, 'PATCH', '/api/servers/filed', { description: `round ${n}` }),
        state: async () => [await servers(), JSON.parse(await settingsText())],
      }
      expect(await failAtEach(edit, { kind: 'file', code, stays: false }, refusal)).toBeGreaterThan(0)
      await stillLives()
    }, 300_000)
  }
})

describe('the n-th start of a process fails:', () => {
  for (const code of extent(['EAGAIN'], ['EAGAIN', 'EMFILE', 'ENOMEM'])) {
    test(`a server is restarted, ${code}: it says so, and starts once there is room again`, async () => {
      await arm({ kind: 'spawn', at: 1, code, stays: true })
      await ask(admin, 'POST', '/api/servers/echo/restart')
      const reason = await until(
        async () => [(await statusOf(reader, 'admin~echo')).reason].find(said => said?.code === 'spawn_failed'),
        { what: 'spawn_failed as the reason' },
      )
      expect(reason.code).toBe('spawn_failed')
      expect(reason.message).toContain(code)
      await arm({ kind: 'none', at: 0, code: '', stays: false })
      await ask(admin, 'POST', '/api/servers/echo/start')
      await online(admin, ['echo'])
      await stillLives()
    }, 120_000)
  }
})

beyondCore(() => {
  test('acknowledged changes are there after a restart, and nothing else', async () => {
    const look = async () => [await servers(), await keys(), await items('/api/admin/users', 'username', 'role')]
    const before = await look()
    const { folder } = hub
    await hub.stop({ keep: true })
    hub = await startHub({ folder, env: { ...ENV, FAIL_AT: controlFile } })
    admin = await hub.signIn('admin')
    reader = await hub.signIn('reader')
    expect(await look()).toEqual(before)
  }, 120_000)
})
