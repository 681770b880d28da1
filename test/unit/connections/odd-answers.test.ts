import { afterEach, expect, test } from 'bun:test'
import { atLeast } from '../../support/pace.ts'
import { type Rig, serverRecord, startRig, textOf } from './support.ts'

let rig: Rig | undefined
afterEach(async () => {
  await rig?.dispose()
  rig = undefined
})

const VERSION = '"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}'
const INITIALIZE = `{"jsonrpc":"2.0","id":ID,"result":{${VERSION}}}`
const CALL = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}'

/** A program that answers requests by these texts, in which ID becomes the id; `first` comes before all its output. */
function odd(texts: Readonly<Record<string, string>>, first = ''): ReturnType<typeof serverRecord> {
  const all = { initialize: INITIALIZE, 'tools/call': CALL, ...texts }
  const code = `
    const texts = ${JSON.stringify(all)}
    process.stdout.write(${JSON.stringify(first)})
    require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
      const { id, method } = JSON.parse(line)
      const text = texts[method] ?? '{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}'
      if (id !== undefined) process.stdout.write(text.replace('ID', String(id)) + '\\n')
    })`
  return serverRecord('odd', { config: { command: process.execPath, args: ['-e', code] } })
}

async function start(...how: Parameters<typeof odd>): Promise<Rig> {
  rig = await startRig([odd(...how)], { startTimeoutMs: 30_000 })
  return rig
}

test('a byte order mark before the first line is not part of it', async () => {
  const { connections, call } = await start({}, '\ufeff')
  expect(await connections.settled('odd', 60_000)).toMatchObject({ state: 'online' })
  expect(textOf(await call('odd', 'x'))).toBe('done')
})

test('answers with ids as texts, or with a null beside what applies, are answers', async () => {
  const { connections, call } = await start({
    initialize: INITIALIZE.replace('ID', '"ID"'),
    'tools/call': CALL.replace(/\}$/, ',"error":null}'),
  })
  expect(await connections.settled('odd', 60_000)).toMatchObject({ state: 'online' })
  expect(textOf(await call('odd', 'x'))).toBe('done')
})

for (const [what, initialize, said] of [
  ['is cut off', '{"jsonrpc":"2.0","id":ID,"result":{"prot', 'a line that is not JSON'],
  ['is an error without a code', '{"jsonrpc":"2.0","id":ID,"error":{"message":"no key"}}', 'no key'],
] as const) {
  test(`an answer to initialize that ${what} fails the start at once, and says so`, async () => {
    const { connections } = await start({ initialize })
    const { reason } = await connections.settled('odd', 60_000)
    expect(reason).toMatchObject({ code: 'upstream_protocol', message: expect.stringContaining(said) })
  })
}

test('a server that writes something else than answers has another reason than a silent one', async () => {
  // Long enough for its line to come on a busy machine.
  rig = await startRig([odd({ initialize: 'Content-Length: 12' })], { startTimeoutMs: atLeast(2_000) })
  const { reason } = await rig.connections.settled('odd', 60_000)
  expect(reason?.code).toBe('upstream_init_timeout')
  expect(reason?.message).toContain('it sent a line that is not JSON')
})

test('a result that says nothing fails its call, since no client could read it', async () => {
  for (const result of ['null', '[]', '5', 'true']) {
    const { connections, call } = await start({ 'tools/call': `{"jsonrpc":"2.0","id":ID,"result":${result}}` })
    await connections.settled('odd', 60_000)
    expect(await call('odd', 'x')).toMatchObject({ kind: 'failed', code: 'upstream_protocol' })
    await rig?.dispose()
  }
})
