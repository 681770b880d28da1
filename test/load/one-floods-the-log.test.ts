/** One user calls without end, at 16 connections; the records of another user's calls all arrive, in each sink. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { HEADERS } from '../support/raw-mcp.ts'
import { makeRsyslog, type Rsyslog } from '../support/rsyslog.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const CALLS = 24
const CONNECTIONS = 16
/** Records that one user's calls have in a second, beside those that count many. */
const PER_SECOND = 200

interface CallRecord {
  readonly timestamp: string
  readonly tool?: string
  readonly count?: number
  readonly userId: string
  readonly status?: string
}

let folder: string
let syslog: Rsyslog
let hub: Hub
let admin: Client
let eve: Client
let ben: Client

beforeAll(async () => {
  folder = await makeTemp('flood')
  syslog = await makeRsyslog()
  await syslog.start()
  const sink = { use: 'sink-syslog', config: { host: '127.0.0.1', port: syslog.tcpPort, protocol: 'tcp' } }
  hub = await startHub({
    settings: { mcpServers: { echo: { ...stdioFixture('echo'), visibility: 'public' } }, plugins: [sink] },
    env: { LOG_FILE: join(folder, 'hub.log') },
  })
  admin = await hub.setup()
  eve = await hub.user('eve')
  ben = await hub.user('ben')
  await online(admin, ['echo'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await syslog?.[Symbol.asyncDispose]()
  await removeTemp(folder)
}, 120_000)

async function userIdOf(client: Client): Promise<string> {
  return (await client.ok('GET', '/api/auth/me')).id
}

/** Calls until `isOver`; returns the number of calls that were answered. */
async function flood(path: string, isOver: () => boolean): Promise<number> {
  const key = await eve.mcpKey()
  let made = 0
  const body = (id: number) =>
    JSON.stringify({
      ...{ jsonrpc: '2.0', id, method: 'tools/call' },
      params: {
        ...{ name: 'echo', arguments: { text: 'x' } },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'flood', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    })
  const headers = {
    ...{ ...HEADERS, authorization: `Bearer ${key}`, 'mcp-protocol-version': '2026-07-28' },
    ...{ 'mcp-method': 'tools/call', 'mcp-name': 'echo' },
  }
  const one = async (): Promise<void> => {
    while (!isOver()) {
      const answer = await fetch(`${hub.url}${path}`, { method: 'POST', headers, body: body(made) })
      const text = await answer.text()
      if (!text.includes('"result"'))
        throw new Error(`A call of the flood was answered ${answer.status}: ${text.slice(0, 300)}`)
      made += 1
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, one))
  return made
}

test('the flood of one user loses none of another’s records, and its own are counted', async () => {
  const owner = (await admin.ok('GET', '/api/auth/me')).name
  const [eveId, benId] = [await userIdOf(eve), await userIdOf(ben)]
  const client = await ben.mcp(`/mcp/@${owner}/echo`)
  let done = false
  const flooding = flood(`/mcp/@${owner}/echo`, () => done)
  for (let call = 0; call < CALLS; call += 1) {
    await callText(client, 'echo', { text: String(call) })
    await Bun.sleep(150)
  }
  done = true
  const made = await flooding

  const ofBen = async () => (await ben.ok('GET', '/api/logs/search?tool=echo&limit=1000')).items.length
  await until(async () => (await ofBen()) === CALLS, { timeoutMs: 60_000, what: 'all records to be searchable' })
  const inFile = async (): Promise<CallRecord[]> =>
    (await readFile(join(folder, 'hub.log'), 'utf8'))
      .split('\n')
      .filter(line => line.includes('"tools/call"'))
      .map(line => JSON.parse(line))
  const sumOf = (records: readonly CallRecord[], userId: string) =>
    records.filter(each => each.userId === userId).reduce((sum, { count = 1 }) => sum + count, 0)
  await until(async () => sumOf(await inFile(), eveId) === made, { timeoutMs: 10_000, what: 'all calls in the file' })
  const records = await inFile()
  expect(records.filter(({ userId }) => userId === benId)).toHaveLength(CALLS)
  expect(records.filter(({ userId, count }) => userId === benId && count !== undefined)).toEqual([])

  const ofEve = records.filter(({ userId }) => userId === eveId)
  const seconds = (Date.parse(ofEve.at(-1)?.timestamp ?? '') - Date.parse(ofEve[0]?.timestamp ?? '')) / 1_000
  expect(ofEve.length).toBeLessThan((PER_SECOND + 1) * (seconds + 2))
  expect(ofEve.some(({ count = 0 }) => count > 1)).toBe(true)

  await until(
    async () => (await syslog.received()).filter(({ data }) => data.includes(`userId="${benId}"`)).length === CALLS,
    { timeoutMs: 30_000, what: 'all records at rsyslog' },
  )
  const ofFlood = async () => (await eve.ok('GET', '/api/logs/search?tool=echo&limit=1000')).items.length
  await until(async () => (await ofFlood()) >= PER_SECOND, {
    timeoutMs: 30_000,
    what: 'records of the flood in the history',
  })

  // Each call counts in the numbers, whatever its record is.
  const counts = await eve.ok('GET', '/api/logs/aggregations/requests-by-server?range=1h')
  expect(counts.total).toBe(made)
}, 120_000)
