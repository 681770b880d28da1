import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Client, type Hub, ROOT, startHub } from '../support/hub.ts'
import { atLeast, atMost } from '../support/pace.ts'
import { callText, statusOf } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

/** A program that is ready only after this time, and the deadline that is too short for it at first. */
const READY_MS = atLeast(600)
const SHORT_MS = Math.ceil(READY_MS / 3)
/** START_TIMEOUT, which is at least a second. */
const USUAL_MS = atLeast(1_000)

let silent: Server
let silentUrl: string
let hub: Hub
let admin: Client
/** The first failures of each server; read from the start on, since they do not last. */
let reasons: Record<'doubling' | 'usual' | 'silent', Promise<readonly string[]>>

beforeAll(async () => {
  silent = createServer(request => void request.resume()).listen(0, '127.0.0.1')
  await until(() => silent.listening)
  silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/mcp`
  hub = await startHub({
    env: { WORKERS: '1', START_TIMEOUT: `${USUAL_MS}ms` },
    settings: {
      mcpServers: {
        doubling: { ...known('slow', { INIT_MS: String(READY_MS) }), startTimeout: SHORT_MS },
        talking: {
          ...known('slow', { INIT_MS: '600000', SAY: 'downloading 10%\rdownloading 42%' }),
          startTimeout: 600_000,
        },
        patient: { ...known('slow', { INIT_MS: String(USUAL_MS * 2) }), startTimeout: USUAL_MS * 30 },
        usual: known('slow', { INIT_MS: '600000' }),
        silent: { url: silentUrl, transport: 'streamable-http', era: 'legacy', session: 'shared' },
      },
    },
  })
  admin = await hub.setup()
  reasons = {
    doubling: reasonsUntil('doubling', () => false),
    usual: reasonsUntil('usual', seen => seen.size > 0),
    silent: reasonsUntil('silent', seen => seen.size > 0),
  }
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  silent?.closeAllConnections()
  silent?.close()
}, 120_000)

/** The reasons of a server, each time that it is offline, until `done`. */
async function reasonsUntil(name: string, done: (reasons: ReadonlySet<string>) => boolean): Promise<readonly string[]> {
  const seen = new Set<string>()
  await until(
    async () => {
      const { state, reason } = await statusOf(admin, name)
      if (state === 'offline' && reason) seen.add(`${reason.code}: ${reason.message}`)
      return state === 'online' || done(seen)
    },
    { timeoutMs: 60_000, intervalMs: 20, what: `reasons of ${name}` },
  )
  return [...seen]
}

/** True when the limit in a reason is this one, or two, four, eight … times as long. */
function isDoubled(reason: string, ms: number): boolean {
  return Number.isInteger(Math.log2(Number(/within (\d+) ms/.exec(reason)?.[1]) / ms))
}

test('startTimeout of a server wins over START_TIMEOUT, which is in force for programs and addresses without one', async () => {
  for (const name of ['usual', 'silent'] as const) {
    const [reason = ''] = await reasons[name]
    expect(reason).toStartWith('upstream_init_timeout: ')
    expect(isDoubled(reason, USUAL_MS)).toBe(true)
  }
  await until(async () => (await statusOf(admin, 'patient')).state === 'online', { timeoutMs: 60_000 })
}, 120_000)

test('an attempt that its startTimeout ended is followed by ones with twice the time, until the program is ready', async () => {
  const seen = await reasons.doubling
  expect(seen.length).toBeGreaterThan(0)
  expect(seen.every(text => text.startsWith('upstream_init_timeout: '))).toBe(true)
  expect(seen.every(text => isDoubled(text, SHORT_MS))).toBe(true)
  expect(await callText(await admin.mcp('/mcp/doubling'), 'quick')).toBe('quick')
}, 120_000)

test('the status says for how long a start has lasted, and what the program wrote last', async () => {
  const at = performance.now()
  const first = await until(async () => {
    const { starting } = await statusOf(admin, 'talking')
    return starting?.line === undefined ? undefined : starting
  })
  expect(first.line).toBe('downloading 42%')
  await until(async () => ((await statusOf(admin, 'talking')).starting?.forMs ?? 0) >= first.forMs + 200)
  expect((await statusOf(admin, 'talking')).starting?.forMs).toBeLessThan(performance.now() - at + atMost(60_000))
  expect((await statusOf(admin, 'patient')).starting).toBeUndefined()
})

test('a trial has the deadline of its configuration, or the hub’s', async () => {
  const trial = async (more: object) => {
    const body = { name: 'trial', ...known('slow', { INIT_MS: '600000' }), ...more }
    const { ok, error } = await admin.ok('POST', '/api/servers/test', body)
    return [ok, error.code, error.message]
  }
  const late = (ms: number) => [false, 'upstream_init_timeout', expect.stringContaining(`within ${ms} ms`)]
  expect(await trial({ startTimeout: 100 })).toEqual(late(100))
  expect(await trial({})).toEqual(late(USUAL_MS))
})

test('a startTimeout over ten minutes, below 1 or no whole number is refused', async () => {
  for (const [startTimeout, code] of [
    [600_001, 'range'],
    [0, 'range'],
    [1.5, 'type'],
    ['60s', 'type'],
  ]) {
    const { status, json } = await admin.request('POST', '/api/servers', { name: 'odd', url: silentUrl, startTimeout })
    expect([status, json.errors?.[0]?.pointer]).toEqual([400, '#/startTimeout'])
    expect([startTimeout, json.errors[0].code]).toEqual([startTimeout, code])
  }
  const { startTimeout } = await admin.ok('PATCH', '/api/servers/usual', { startTimeout: 600_000 })
  expect(startTimeout).toBe(600_000)
})

test('the hub’s own limit is among the settings of administrators, at most ten minutes', async () => {
  const sources = await admin.ok('GET', '/api/admin/settings/sources')
  expect(sources.startTimeoutMs).toMatchObject({ source: 'env', variable: 'START_TIMEOUT', type: 'duration' })
  expect((await admin.ok('GET', '/api/admin/settings')).startTimeoutMs).toBe(USUAL_MS)
  const { status } = await admin.request('PATCH', '/api/admin/settings', { startTimeoutMs: '11m' })
  expect(status).toBe(400)
})

test('a package runner outside the sandbox has ten minutes for its first start, since it installs', async () => {
  const bin = await makeTemp('slow-starts')
  const runner = join(bin, 'npx')
  const server = join(ROOT, 'test/support/mcp-servers/slow.ts')
  writeFileSync(runner, `#!/bin/sh\nexec ${process.execPath} ${server}\n`)
  chmodSync(runner, 0o755)
  const other = await startHub({
    env: { WORKERS: '1', PATH: `${bin}:${process.env.PATH}` },
    settings: {
      mcpServers: {
        first: {
          ...{
            command: 'npx',
            args: ['-y', 'some-server'],
            env: { INIT_MS: String(READY_MS) },
            startTimeout: SHORT_MS,
          },
          ...{ era: 'legacy', session: 'shared' },
        },
      },
    },
  })
  try {
    const owner = await other.setup()
    const seen = new Set<unknown>()
    await until(
      async () => {
        const { state, reason } = await statusOf(owner, 'first')
        seen.add(reason?.code)
        return state === 'online'
      },
      { timeoutMs: 60_000, intervalMs: 20 },
    )
    expect([...seen]).toEqual([undefined])
  } finally {
    await other.stop()
    await removeTemp(bin)
  }
}, 120_000)
