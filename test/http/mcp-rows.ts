import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Answer, send } from '../support/client.ts'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, ROOT, startHub } from '../support/hub.ts'
import { type KeptState, keptState } from '../support/kept-state.ts'
import { startProgram } from '../support/program.ts'
import { HEADERS, RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { expectHardened, expectWell, patient } from './rows.ts'

/** A hub with two people; alice has a group `g` of one server that works, and a session on it. */
export interface McpTown {
  readonly hub: Hub
  readonly admin: Client
  readonly alice: Client
  readonly bob: Client
  /** Alice's access key. */
  readonly key: string
  /** A session that stays open throughout. */
  readonly standing: RawClient
  close(): Promise<void>
}

export async function openMcpTown(): Promise<McpTown> {
  const upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  const hub = await startHub({ env: LOOPBACK })
  const admin = await hub.setup()
  const alice = await hub.user('alice')
  const bob = await hub.user('bob')
  await alice.ok('POST', '/api/servers', { name: 'echo', url: upstream.url })
  await alice.ok('POST', '/api/servers', { name: 'down', url: upstream.url, enabled: false })
  await alice.ok('POST', '/api/groups', { name: 'g', members: ['echo'] })
  await alice.ok('POST', '/api/groups', { name: 'half', members: ['echo', 'down'] })
  await bob.ok('POST', '/api/groups', { name: 'theirs', members: [] })
  await online(alice, ['echo'])
  const key = await alice.mcpKey()
  await bob.mcpKey()
  const standing = await new RawClient(hub, '/mcp/g', key).open()
  const close = async (): Promise<void> => {
    await standing.delete()
    await hub.stop()
    await upstream.stop()
  }
  return { hub, admin, alice, bob, key, standing, close }
}

export interface McpRow {
  readonly what: string
  readonly method?: string
  /** Default `/mcp/g`. */
  readonly path?: string
  /** Headers besides the usual ones; an empty value leaves a header out. `session`: the id of the open session. */
  readonly headers?: Readonly<Record<string, string>>
  readonly session?: true
  readonly body?: unknown
  readonly status: number
  /** JSON-RPC's code and the hub's own, where the answer is an error. */
  readonly rpc?: number
  readonly code?: string
}

export const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
export const initialize = {
  ...ping,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
}
/** A message on the open session. */
export const message = (what: string, body: unknown, status: number, rpc?: number, code?: string): McpRow => ({
  ...{ what, body, session: true, status },
  ...(rpc === undefined ? {} : { rpc }),
  ...(code === undefined ? {} : { code }),
})
export const call = (params: unknown, id: unknown = 7) => ({ jsonrpc: '2.0', id, method: 'tools/call', params })

/** Number of sessions. */
async function sessions({ admin }: McpTown): Promise<number> {
  return (await patient(() => admin.request('GET', '/api/admin/sessions'))).json.items.length
}

async function ask({ hub, key, standing }: McpTown, row: McpRow): Promise<Answer> {
  const { method = 'POST', path = '/mcp/g', headers = {}, session, body = ping } = row
  const all: Record<string, string> = { ...HEADERS, authorization: `Bearer ${key}`, ...headers }
  if (session) {
    all['mcp-session-id'] = standing.sessionId
    all['mcp-protocol-version'] = '2025-11-25'
  }
  for (const [name, value] of Object.entries(all)) if (value === '') delete all[name]
  return send(hub.url, method, path, method === 'GET' || method === 'HEAD' ? undefined : body, all)
}

/**
 * One test for each row; `scene` is called when the tests run. Stored data, sessions and the open session are checked after
 * each table, and in a whole run after each row.
 */
export function mcpTable(about: string, scene: () => McpTown, rows: readonly McpRow[]): void {
  describe(about, () => {
    let before: Standing | undefined
    const settle = async () => {
      expect(await standingOf(scene())).toEqual(before as Standing)
      // The open session still answers, whatever else was sent.
      expect((await scene().standing.call('ping')).result).toEqual({})
      await expectWell(scene().hub)
    }

    test.each(rows.map(row => [`${row.what} → ${row.status} ${row.rpc ?? ''} ${row.code ?? ''}`.trim(), row] as const))(
      '%s',
      async (_title, row) => {
        before ??= await standingOf(scene())
        holds(await ask(scene(), row), row)
        if (extent(false, true)) await settle()
      },
    )

    test('none of them has changed stored data or the sessions', settle)
  })
}

interface Standing {
  readonly kept: KeptState
  readonly sessions: number
}

async function standingOf(town: McpTown): Promise<Standing> {
  return { kept: keptState(town.hub), sessions: await sessions(town) }
}

function holds(answer: Answer, row: McpRow): void {
  const error = answer.text.startsWith('{') ? answer.json.error : undefined
  expect({ status: answer.status, rpc: error?.code, code: error?.data?.code }).toEqual({
    status: row.status,
    rpc: row.rpc,
    code: row.code,
  })
  expectHardened(answer)
  if (error) {
    expect(answer.json.jsonrpc).toBe('2.0')
    expect(error.data).toMatchObject({ requestId: expect.any(String), hint: expect.any(String) })
  }
  if (row.status === 401)
    expect(answer.headers.get('www-authenticate')).toMatch(
      /^Bearer realm="patchbay"(, error="invalid_token")?(?:, scope="mcp:tools", resource_metadata="http[^"]+")?$/,
    )
  if (row.status === 405) expect(answer.headers.get('allow')).toBeTruthy()
  if (row.status === 415) expect(answer.headers.get('accept')).toBe('application/json')
}
