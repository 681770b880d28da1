/** Imports of hostile documents, and imports that are killed: nothing of them exists. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, send, startHub } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { online } from '../support/servers.ts'
import { watchFor } from '../support/unharmed.ts'
import { timed } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

let hub: Hub
let admin: Client
let unharmed: () => Promise<void>

beforeAll(async () => {
  hub = await startHub({ countTimers: true, settings: { mcpServers: { echo: known('echo') } } })
  admin = await hub.setup()
  await online(admin, ['echo'])
  unharmed = await watchFor(hub, admin)
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

const importing = (document: unknown, query = '?dryRun=true') =>
  admin.request('POST', `/api/import${query}`, { document })

async function nothingIsThere(): Promise<void> {
  expect((await admin.ok('GET', '/api/servers?scope=all')).total).toBe(1)
  expect((await admin.ok('GET', '/api/admin/users')).total).toBe(1)
  expect((await admin.ok('GET', '/api/groups?scope=all')).total).toBe(0)
}

test('a body that is no document is refused, and nothing is written', async () => {
  const many = (count: number, entry: (n: number) => unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`s${n}`, entry(n)]))
  const url = 'https://never.example/'
  const large: [unknown, number, string][] = [[{ mcpServers: many(100_000, () => ({ url })), users: [] }, 400, '']]
  const documents: [unknown, number, string][] = [
    ['', 400, 'validation_failed'],
    ['PK\u0003\u0004 zip', 200, ''],
    ['{"mcpServers": {"__proto__": {"command": "x"}}, "users": []}', 400, ''],
    [`{"users": [${'['.repeat(200)}${']'.repeat(200)}]}`, 400, ''],
    [{ users: [], mcpServers: many(2_100, () => ({ url })) }, 400, 'validation_failed'],
    // The plugins' tests send this many too.
    ...extent<typeof large>([], large),
    [{ users: 'x', groups: [], mcpServers: [] }, 200, ''],
    [
      { users: [null, 1, { username: 'a'.repeat(10_000) }, { username: '../x' }, {}], groups: [null, { name: 5 }] },
      200,
      '',
    ],
    [{ bearerKeys: [null, {}, { token: 5 }, { token: 'a b' }, { token: 'x'.repeat(5_000) }], users: [] }, 200, ''],
    [{ users: [{ username: 'x' }, { username: 'X' }] }, 400, 'validation_failed'],
    [{ users: [], groups: [{ name: 'g', id: 'x'.repeat(100_000), servers: [{ name: 5 }, null] }] }, 200, ''],
    ['$'.repeat(300_000), 200, ''],
    [`{"mcpServers": {"x": {"command": "${`\${A:-`.repeat(20_000)}"}}, "users": []}`, 200, ''],
  ]
  for (const [document, status, code] of documents) {
    const answer = await importing(document)
    const shown = JSON.stringify(document).slice(0, 80)
    if (status === 400) expect([shown, answer.status >= 400 && answer.status < 500]).toEqual([shown, true])
    else expect([shown, answer.status]).toEqual([shown, status])
    if (code !== '') expect(answer.json.code).toBe(code)
    if (answer.status === 200) {
      for (const { verdict, kind } of answer.json.items) expect([kind, verdict]).toEqual([kind, 'invalid'])
    }
  }
  await nothingIsThere()
  await unharmed()
}, 120_000)

test('repeated imports of one user are answered one at a time, and others are served meanwhile', async () => {
  const mallory = await hub.user('mallory')
  const servers = Object.fromEntries(
    Array.from({ length: 480 }, (_, n) => [`s${n}`, { url: 'https://never.example/' }]),
  )
  const document = { mcpServers: servers, users: [] }
  const answers = Promise.all(
    Array.from({ length: extent(6, 20) }, () => mallory.request('POST', '/api/import?dryRun=true', { document })),
  )
  const waits: number[] = []
  for (let n = 0; n < 20; n += 1) {
    waits.push((await timed(() => admin.ok('GET', '/api/servers'))).ms)
    // Spreads the requests over the imports.
    await Bun.sleep(20)
  }
  // Each import takes about a second.
  expect(Math.max(...waits)).toBeLessThan(atMost(250))
  const statuses = (await answers).map(({ status, json }) => (status === 200 ? status : json.code))
  expect(new Set(statuses)).toEqual(new Set([200, 'overloaded']))
  expect(statuses.filter(status => status === 200).length).toBeLessThanOrEqual(4)
  await admin.ok('DELETE', '/api/admin/users/mallory')
}, 120_000)

test('choices and answers that are none are refused by their place', async () => {
  const document = { mcpServers: { a: { url: 'https://never.example/' } } }
  const wrong: [object, string][] = [
    [{ choices: { '#/mcpServers/a': 'merge' } }, '#/choices'],
    [{ answers: { A: 5 } }, '#/answers/A'],
    [{ off: 'yes' }, '#/off'],
    [{ more: 1 }, '#/more'],
  ]
  for (const [change, pointer] of wrong) {
    const answer = await admin.request('POST', '/api/import?dryRun=true', { document, ...change })
    expect([answer.status, answer.json.errors?.[0]?.pointer.startsWith(pointer)]).toEqual([400, true])
  }
  const renamed = { '#/mcpServers/a': { rename: '../x' } }
  const plan = await admin.ok('POST', '/api/import?dryRun=true', { document, choices: renamed })
  expect(plan.items[0]).toMatchObject({ verdict: 'invalid' })
  await nothingIsThere()
})

test('a value that is filled in is text, and the environment of the hub is not read', async () => {
  const document = {
    mcpServers: {
      a: { command: 'x', args: [`\${env:PATH}`, `\${B:-of \${x`, '$HOME'], env: { C: `\${input:c}`, D: `\${HOME}` } },
    },
  }
  const answers = { c: `\${PATH} $(x); rm -rf /`, PATH: 'one word; as it is' }
  const plan = await admin.ok('POST', '/api/import?dryRun=true', { document, answers })
  const [{ body, missing }] = plan.items
  expect(body.variables).toMatchObject({ c: `$\${PATH} $(x); rm -rf /`, PATH: 'one word; as it is' })
  expect(body.args[2]).toBe('$HOME')
  expect(missing).toEqual([{ name: 'HOME', secret: false }])
  expect(JSON.stringify(plan)).not.toContain(process.env.HOME ?? 'no home')
})

beyondCore(() => {
  test('an import that is killed at any moment exists whole or not at all', async () => {
    const servers = Object.fromEntries(
      Array.from({ length: 150 }, (_, n) => [`s${n}`, { url: `https://never.example/${n}`, enabled: false }]),
    )
    const users = Array.from({ length: 20 }, (_, n) => ({ username: `user${n}` }))
    const document = { mcpServers: servers, users, groups: [{ name: 'g', servers: ['s1', 's2'] }] }
    const seen: string[] = []
    // The kill comes later each time, since the time that an import takes depends on the machine.
    for (let ms = 5; ; ms *= 2) {
      const { planHash } = await admin.ok('POST', '/api/import?dryRun=true', { document })
      const applying = send(
        hub.url,
        'POST',
        '/api/import',
        { document, planHash },
        {
          authorization: `Bearer ${admin.token}`,
        },
      ).catch(() => undefined)
      // The moment of the kill.
      await Promise.race([applying, Bun.sleep(ms)])
      await hub.kill9()
      await applying
      hub = await startHub({ folder: hub.folder })
      admin = await hub.signIn('admin')
      const totals = await Promise.all(
        ['/api/servers?scope=all', '/api/admin/users', '/api/groups?scope=all'].map(
          async path => (await admin.ok('GET', path)).total,
        ),
      )
      const { items } = await admin.ok('GET', '/api/import')
      seen.push([...totals, items.length].join(' '))
      if (items.length > 0) break
    }
    for (const state of seen) expect(['1 1 0 0', '151 21 1 1']).toContain(state)
    expect(seen).toContain('1 1 0 0')
    expect(seen).toContain('151 21 1 1')
  }, 600_000)
})
