import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, send, startHub } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { sharedFixture } from './shared-fixture.ts'

const ECHO_HTTP = join(import.meta.dir, '../support/mcp-servers/echo-http.ts')

const upstreams: Record<string, Program> = {}
const people: Record<string, Client> = {}
let hub: Hub

/** Two ordinary users with remote servers, two administrators with processes: each pair with equal names. */
const PAIRS = [
  ['anna', 'bert'],
  ['cleo', 'dora'],
] as const

beforeAll(async () => {
  hub = await startHub({ env: LOOPBACK })
  await hub.setup()
  for (const name of PAIRS[0]) {
    upstreams[name] = await startProgram(ECHO_HTTP, { env: { WHO: name } })
    people[name] = await hub.user(name)
    await people[name].ok('POST', '/api/servers', { name: 'fake', session: 'shared', url: upstreams[name].url })
  }
  for (const name of PAIRS[1]) {
    people[name] = await hub.user(name, 'admin')
    await people[name].ok('POST', '/api/servers', { name: 'fake', ...sharedFixture('echo', { WHO: name }) })
  }
  for (const name of PAIRS.flat()) {
    await person(name).ok('POST', '/api/groups', { name: 'g', members: ['fake'] })
    await online(person(name), ['fake'])
  }
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  for (const program of Object.values(upstreams)) await program.stop()
}, 120_000)

function person(name: string): Client {
  const found = people[name]
  if (!found) throw new Error(`No such person: ${name}`)
  return found
}

async function who(client: Client, path: string): Promise<string> {
  const session = await client.mcp(path)
  return JSON.parse(await callText(session, 'whoami')).who
}

for (const [first, second] of PAIRS) {
  describe(`${first} and ${second}, each with a server "fake" behind a group "g"`, () => {
    test('each one’s call reaches the own server, by group and by server, at the same time too', async () => {
      for (const path of ['/mcp/g', '/mcp/fake', '/mcp']) {
        expect(await Promise.all([who(person(first), path), who(person(second), path)])).toEqual([first, second])
      }
    }, 120_000)

    test('a tool called over REST is that of the own server', async () => {
      for (const name of [first, second]) {
        const result = await person(name).ok('POST', '/api/servers/fake/tools/whoami/call', { arguments: {} })
        expect(JSON.stringify(result)).toContain(`\\"who\\":\\"${name}\\"`)
      }
    })

    test('the lists of each hold the own server alone, when they ask for their own', async () => {
      for (const name of [first, second]) {
        const { items } = await person(name).ok('GET', '/api/servers?scope=mine')
        expect(items.map((item: { owner: string; name: string }) => [item.owner, item.name])).toEqual([[name, 'fake']])
      }
    })

    test('stopping the one leaves the other online', async () => {
      await person(first).ok('POST', '/api/servers/fake/stop')
      await until(async () => (await statusOf(person(first), 'fake')).state === 'offline', { what: 'the stop' })
      expect((await statusOf(person(second), 'fake')).state).toBe('online')
      expect(await who(person(second), '/mcp/g')).toBe(second)
      await person(first).ok('POST', '/api/servers/fake/start?wait=30s')
      await online(person(first), ['fake'])
      expect(await who(person(first), '/mcp/g')).toBe(first)
    }, 120_000)
  })
}

test('the events of one user never carry the other’s server', async () => {
  const [anna, bert] = [person('anna'), person('bert')]
  const ids = new Map<string, string>()
  for (const client of [anna, bert]) ids.set(client.name, (await client.ok('GET', '/api/servers/fake')).id)
  const leaving = new AbortController()
  const heard = { anna: '', bert: '' }
  const listen = async (client: Client): Promise<void> => {
    const answer = await fetch(new URL('/api/stream?topics=servers,calls', hub.url), {
      headers: { authorization: `Bearer ${client.token}` },
      signal: leaving.signal,
    })
    const decoder = new TextDecoder()
    for await (const chunk of answer.body ?? []) heard[client.name as 'anna' | 'bert'] += decoder.decode(chunk)
  }
  const streams = [anna, bert].map(client => listen(client).catch(() => undefined))
  await until(() => heard.anna !== '' && heard.bert !== '', { what: 'both streams to open' })
  await who(anna, '/mcp/g')
  await who(bert, '/mcp/g')
  await until(() => heard.anna.includes('tool.called') && heard.bert.includes('tool.called'), { what: 'both events' })
  leaving.abort()
  await Promise.all(streams)
  expect(heard.anna).toContain(ids.get('anna') ?? '')
  expect(heard.anna).not.toContain(ids.get('bert') ?? '')
  expect(heard.bert).toContain(ids.get('bert') ?? '')
  expect(heard.bert).not.toContain(ids.get('anna') ?? '')
})

test('the log of a server is its owner’s alone', async () => {
  const foreign = await person('anna').request('GET', '/api/servers/bert~fake/logs?stream=stderr')
  const missing = await person('anna').request('GET', '/api/servers/bert~none/logs?stream=stderr')
  expect([foreign.status, missing.status]).toEqual([404, 404])
})

test('the credential of the one never opens the path of the other, and the caller’s own never goes upstream', async () => {
  const [anna, bert] = [person('anna'), person('bert')]
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  }
  const headers = (key: string) => ({
    authorization: `Bearer ${key}`,
    accept: 'application/json, text/event-stream',
  })
  const foreign = await send(hub.url, 'POST', '/mcp/@bert/g', initialize, headers(await anna.mcpKey()))
  const missing = await send(hub.url, 'POST', '/mcp/@bert/nothing', initialize, headers(await anna.mcpKey()))
  expect([foreign.status, missing.status]).toEqual([404, 404])
  const session = await anna.mcp('/mcp/g')
  const seen = JSON.parse(await callText(session, 'whoami')).headers
  expect(JSON.stringify(seen)).not.toContain(await anna.mcpKey())
  expect(seen.authorization).toBeUndefined()

  const opened = await send(hub.url, 'POST', '/mcp/g', initialize, headers(await anna.mcpKey()))
  const id = opened.headers.get('mcp-session-id') ?? ''
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
  const stolen = await send(hub.url, 'POST', '/mcp/g', list, { ...headers(await bert.mcpKey()), 'mcp-session-id': id })
  expect(stolen.status).toBe(404)
  expect(stolen.text).not.toContain('whoami')
})

test('a public server is used by others and stays its owner’s; a private one is missing for them, byte for byte', async () => {
  const [anna, bert] = [person('anna'), person('bert')]
  const withoutIds = (text: string): string => text.replaceAll(/"requestId":"[^"]*"/g, '"requestId":""')
  const foreign = await anna.request('GET', '/api/servers/bert~fake')
  const missing = await anna.request('GET', '/api/servers/bert~nope')
  expect(foreign.status).toBe(404)
  expect(withoutIds(foreign.text).replaceAll('bert~fake', '?')).toBe(
    withoutIds(missing.text).replaceAll('bert~nope', '?'),
  )
  await bert.ok('PATCH', '/api/servers/fake', { visibility: 'public' })
  try {
    expect(await who(anna, '/mcp/@bert/fake')).toBe('bert')
    expect(await who(anna, '/mcp/fake')).toBe('anna')
    const seen = await anna.ok('GET', '/api/servers/bert~fake')
    expect(seen.url).toBeUndefined()
    expect((await anna.request('PATCH', '/api/servers/bert~fake', { description: 'mine' })).status).toBe(403)
  } finally {
    await bert.ok('PATCH', '/api/servers/fake', { visibility: 'private' })
  }
})
