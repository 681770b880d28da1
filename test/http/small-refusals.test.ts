import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Answer } from '../support/client.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { until } from '../support/wait.ts'

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  await admin.ok('POST', '/api/groups', { name: 'there', members: [] })
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

function problems(answer: Answer): string[] {
  return (answer.json.errors ?? []).map((error: { pointer: string; code: string }) => `${error.code} ${error.pointer}`)
}

describe('query parameters', () => {
  test('that come twice are duplicate', async () => {
    const answer = await admin.request('GET', '/api/servers?limit=1&limit=2')
    expect([answer.status, problems(answer)]).toEqual([400, ['duplicate ?limit']])
    const twoOfTwo = await admin.request('GET', '/api/groups?q=a&q=a&offset=0&offset=0')
    expect(problems(twoOfTwo)).toEqual(['duplicate ?q', 'duplicate ?offset'])
  })

  test.each(['1e2', '1.0', '0x1', '+1', ' 1', '1_0', '١'])('a number is written with digits: %p', async text => {
    const answer = await admin.request('GET', `/api/servers?limit=${encodeURIComponent(text)}`)
    expect([answer.status, problems(answer)[0]?.split(' ')[1]]).toEqual([400, '?limit'])
  })

  test('of /health are passed over, as load balancers add their own', async () => {
    for (const query of ['?x=1', '?x=1&x=2', '?limit=abc']) {
      expect((await admin.request('GET', `/health${query}`)).status).toBe(200)
    }
  })
})

test('If-None-Match: * on PUT is 412 where the record exists, and changes nothing', async () => {
  await admin.ok('POST', '/api/servers', { name: 'made', command: 'true', enabled: false })
  const none = { 'if-none-match': '*' }
  for (const [path, body] of [
    ['/api/servers/made', { name: 'made', command: 'false', enabled: false }],
    ['/api/groups/there', { name: 'there', members: [], description: 'changed' }],
  ] as const) {
    const before = await admin.ok('GET', path)
    const answer = await admin.request('PUT', path, body, none)
    expect([path, answer.status, answer.json.code]).toEqual([path, 412, 'version_conflict'])
    expect(await admin.ok('GET', path)).toEqual(before)
    expect((await admin.request('PUT', path, body)).status).toBe(200)
  }
  expect((await admin.request('PUT', '/api/groups/none', { name: 'none', members: [] }, none)).status).toBe(404)
})

test.each(['①', 'a²', 'Ⅷ', '½'])('%s is no character of a name', async name => {
  const answer = await admin.request('POST', '/api/groups', { name, members: [] })
  expect([answer.status, problems(answer)]).toEqual([400, ['name_invalid #/name']])
})

test('digits of other scripts are', async () => {
  expect((await admin.request('POST', '/api/groups', { name: '組٣', members: [] })).status).toBe(201)
})

test('a folder as command is spawn_failed, and PATH is not printed', async () => {
  const folder = join(hub.folder, 'a-folder')
  await mkdir(folder)
  await admin.ok('POST', '/api/servers', { name: 'folder', command: folder })
  await admin.ok('POST', '/api/servers', { name: 'missing', command: 'no-such-program-here' })
  for (const [name, code] of [
    ['folder', 'spawn_failed'],
    ['missing', 'command_not_found'],
  ] as const) {
    const status = await until(
      async () => {
        const { status } = await admin.ok('GET', `/api/servers/${name}`)
        return status.reason ? status : undefined
      },
      { what: `the reason of ${name}` },
    )
    expect(status.reason.code).toBe(code)
    expect(status.reason.message).not.toContain('/usr/bin')
  }
})

test('a path with an owner that opens nothing is named with the owner', async () => {
  const key = await admin.mcpKey()
  const answer = await fetch(`${hub.url}/mcp/@somebody/work`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  })
  const { error } = (await answer.json()) as { error: { message: string } }
  expect([answer.status, error.message]).toEqual([404, expect.stringContaining('"@somebody/work"')])
})

test.each([
  ['file:///etc/mcp.json', 'the address of a file'],
  [JSON.stringify(JSON.stringify({ mcpServers: {} })), 'JSON inside a JSON string'],
  ['ws://hub.example/mcp', 'ws://'],
])('the import of %s is refused by name', async (document, said) => {
  const answer = await admin.request('POST', '/api/servers/import?dryRun=true', { document })
  expect([answer.text.includes('import_invalid'), answer.text.includes(said)]).toEqual([true, true])
})
