import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { KeptConnection, type WholeAnswer } from '../support/kept-connection.ts'
import { type Program, startProgram } from '../support/program.ts'
import { type Answer, HEADERS, RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'

const CLIENTS = 200
/** Every fifth call has a progress token and is told of its progress twice, so that its answer is a stream. */
const WITH_PROGRESS = 5
const MODERN = '2026-07-28'

type Era = 'legacy' | 'modern'

let web: Program
let hub: Hub
let admin: Client
let key = ''

beforeAll(async () => {
  web = await startProgram(join(import.meta.dir, '../support/mcp-servers/echo-http.ts'))
  hub = await startHub({
    settings: {
      mcpServers: {
        local: { ...stdioFixture('varied'), session: 'shared' },
        web: { type: 'streamable-http', url: web.url, session: 'shared' },
      },
    },
  })
  admin = await hub.setup()
  key = await admin.mcpKey()
  await online(admin, ['local', 'web'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await web?.stop()
}, 120_000)

/** What a client of the era says in the body of every call beside the call itself, and in the headers. */
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'crowd', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

async function headersOf(era: Era, path: string): Promise<Record<string, string>> {
  if (era === 'legacy') return (await new RawClient(hub, path, key).open()).headers
  const own = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': 'emit' }
  return { ...HEADERS, authorization: `Bearer ${key}`, ...own }
}

function messagesOf({ text }: WholeAnswer): readonly Answer[] {
  if (text.startsWith('{')) return [JSON.parse(text)]
  const lines = text.split('\n').filter(line => line.startsWith('data: {'))
  return lines.map(line => JSON.parse(line.slice(6)))
}

/** What is wrong with the answer to the call of this id and payload; undefined when nothing is. */
function problem(answer: WholeAnswer, id: number, payload: string): string | undefined {
  const messages = [...messagesOf(answer)]
  const last = messages.pop()
  const told = messages.map(({ method, params }) => [
    method,
    params?.progressToken,
    params?.progress,
    JSON.parse(String(params?.message)).text,
  ])
  const steps = id % WITH_PROGRESS === 0 ? [1, 2] : []
  const expected = steps.map(step => ['notifications/progress', id, step, payload])
  const right =
    answer.status === 200 &&
    last?.id === id &&
    last.result?.content[0].text === payload &&
    JSON.stringify(told) === JSON.stringify(expected)
  return right ? undefined : `${payload}: ${answer.status} ${answer.text}`
}

/** Clients that all use the ids 1 to `calls` and the progress tokens that go with them. Returns what was wrong. */
async function crowd(era: Era, path: string, calls: number): Promise<string[]> {
  const wrong: string[] = []
  let answered = 0
  const member = async (who: number): Promise<void> => {
    const headers = await headersOf(era, path)
    const connection = await KeptConnection.open(new URL(path, hub.url), headers)
    for (let id = 1; id <= calls; id += 1) {
      const payload = `${era} client ${who}, call ${id}`
      const tells = id % WITH_PROGRESS === 0
      const _meta = { ...(era === 'modern' ? ENVELOPE : {}), ...(tells ? { progressToken: id } : {}) }
      // The pauses let the calls of others pass by.
      const args = { count: 2, gapMs: tells ? 1 : 0, text: payload }
      const params = { name: 'emit', arguments: args, _meta }
      const answer = await connection.post(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }))
      answered += 1
      const found = problem(answer, id, payload)
      if (found !== undefined) wrong.push(found)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, who) => member(who)))
  expect(answered).toBe(CLIENTS * calls)
  return wrong.slice(0, 5)
}

test.each([
  ['legacy', 'local', extent(10, 500)],
  ['modern', 'local', extent(5, 100)],
  ['legacy', 'web', extent(5, 50)],
  ['modern', 'web', extent(5, 50)],
] satisfies [Era, string, number][])(
  'P-11 200 %s clients with equal ids and progress tokens on one server (%s), %d calls each: none crossed, none lost [CVE-2026-25536]',
  async (era, server, calls) => {
    expect(await crowd(era, `/mcp/${server}`, calls)).toEqual([])
  },
  600_000,
)
