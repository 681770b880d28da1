import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LIMITS } from '../../../core/config/limits.ts'
import type { UpstreamReply } from '../../../core/connections/api.ts'
import { askingEvents } from '../../../core/connections/server/seen-asking.ts'
import type { ServerRecord } from '../../../core/contract/records.ts'
import { type Rig, serverRecord, startRig, textOf, until } from './support.ts'

const SCRIPT = join(import.meta.dir, '../../support/mcp-servers/tiny-asking.sh')
const running: Rig[] = []

afterEach(async () => {
  for (const rig of running.splice(0).reverse()) await rig.dispose()
})

async function start(more: Partial<ServerRecord> = {}, dataDir?: string): Promise<Rig> {
  const record = serverRecord('a', { config: { command: '/bin/sh', args: [SCRIPT] }, ...more })
  const rig = await startRig([record], { probes: true, ...(dataDir === undefined ? {} : { config: { dataDir } }) })
  running.push(rig)
  expect((await rig.connections.settled('a', 60_000)).state).toBe('online')
  await until('the look', () => rig.connections.status('a').session?.probing === undefined)
  return rig
}

function call(rig: Rig, session: string, tool = 'shared', userId = 'u'): Promise<UpstreamReply> {
  const capabilities = { roots: {} }
  const binding = { ...{ id: session, userId, capabilities }, kind: 'session', protocolVersion: '2025-11-25' } as const
  const params = { name: tool, arguments: {} }
  return rig.connections.request('a', { method: 'tools/call', params, session: binding }).reply
}

/** Each tool answers with the id of its process. */
const pidOf = textOf

test('the probe finds the tools that are listed for clients that can be asked, and their connection is not shared then', async () => {
  const rig = await start()
  const { session, warnings } = rig.connections.status('a')
  expect(session).toEqual({
    mode: 'auto',
    kind: 'per-session',
    why: 'asks its client: own process per session',
    serverRequests: ['sampling', 'elicitation', 'roots'],
  })
  expect(warnings).toMatchObject([{ code: 'tools_need_asking', tools: ['own'] }])
  expect(rig.connections.catalog('a')?.tools.map(({ key }) => key)).toEqual(['shared'])
  const face = rig.connections.face('a')
  await face.ready({ roots: {} })
  expect(face.toolsFor({ roots: {} })?.map(({ key }) => key)).toEqual(['shared', 'own'])
  await face.ready({ sampling: {} })
  expect(face.toolsFor({ sampling: {} })?.map(({ key }) => key)).toEqual(['shared'])
  expect(face.toolsFor({})).toBeUndefined()
})

test('results are kept over a restart, and found again for another configuration', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'patchbay-asking-'))
  const first = await start({}, dataDir)
  const starts = (rig: Rig): number => rig.audited.filter(({ action }) => action === 'process.start').length
  // One process for the era, one for these questions, and the one that serves.
  expect(starts(first)).toBe(3)
  await first.connections.dispose()
  const second = await start({}, dataDir)
  expect(starts(second)).toBe(1)
  expect(second.connections.status('a').session).toMatchObject({ why: 'asks its client: own process per session' })
  await second.connections.dispose()
  const third = await start({ config: { command: '/bin/sh', args: [SCRIPT, 'other'] } }, dataDir)
  await until('another look', () => starts(third) === 3)
})

test.each([
  ['the owner', 'user-1', LIMITS.ownProcessesPerUserAndServer],
  ['another user', 'u', LIMITS.foreignProcessesPerUserAndServer],
])(
  'a session of %s beyond the quota of processes shares, with a warning, but for tools that are not shared',
  async (_who, user, most) => {
    const rig = await start()
    const called = (session: string, tool?: string) => call(rig, session, tool, user)
    const pids = await Promise.all(Array.from({ length: most }, (_, index) => called(`s${index}`).then(pidOf)))
    expect(new Set(pids).size).toBe(most)
    expect(rig.connections.status('a').connections).toMatchObject({ shared: 1, session: most })
    expect(rig.connections.status('a').warnings).toHaveLength(1)
    expect(pids).not.toContain(pidOf(await called('late')))
    expect(pidOf(await called('late'))).toBe(String(rig.connections.status('a').pid))
    expect(await called('late', 'own')).toMatchObject({ kind: 'failed', code: 'quota_servers' })
    const [, refused] = rig.connections.status('a').warnings ?? []
    expect(refused?.code).toBe('own_connection_refused')
    expect(rig.logs.some(({ fields }) => JSON.stringify(fields ?? {}).includes('"quota_servers"'))).toBe(true)
    // Another user's sessions have processes of their own.
    expect(pidOf(await call(rig, 'other', 'own', 'v'))).not.toBe(String(rig.connections.status('a').pid))
    for (let index = 0; index < most; index += 1) rig.connections.endSession(`s${index}`)
    rig.connections.endSession('late')
    rig.connections.endSession('other')
    await until('one process', () => rig.connections.processes().length === 1)
    expect(rig.connections.status('a').warnings).toHaveLength(1)
  },
  120_000,
)

test('as configured nothing is looked at', async () => {
  for (const session of ['shared', 'per-session', 'per-user'] as const) {
    const rig = await start({ session })
    expect(rig.connections.status('a').session).toEqual({ mode: session, kind: session, why: 'as configured' })
    expect(rig.audited.filter(({ action }) => action === 'process.start')).toHaveLength(2)
  }
})

describe('a failed call says that the server would have asked', () => {
  const tool = (text: string) => JSON.stringify({ content: [{ type: 'text', text }], isError: true })
  test.each([
    [tool('Client does not support sampling (required for sampling/createMessage)'), 'sampling'],
    [tool('Error: Client does not support listing roots (required for roots/list)'), 'roots'],
    [tool('MCP error -32600: Client does not support form elicitation.'), 'elicitation'],
    [JSON.stringify({ code: -32603, message: 'Client does not support elicitation (required for x)' }), 'elicitation'],
    [tool('No file "Client does not support sampling" was found'), undefined],
    [tool('Client does not support cookies'), undefined],
    [tool(`Client does not support sampling${' '.repeat(3_000)}`), undefined],
  ])('%s', (text, capability) => {
    const noted: string[] = []
    askingEvents(name => noted.push(name)).failedCall?.(text)
    expect(noted).toEqual(capability ? [capability] : [])
  })
})
