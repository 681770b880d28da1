/** Assistants that are not Bun's: a platform and a device on Python's standard library, in both directions. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const ENDPOINTS = '/api/assistant/endpoints'
const PROGRAM = join(import.meta.dir, 'assistant-peer.py')

interface Heard {
  readonly event: 'open' | 'text' | 'close' | 'ping' | 'pong' | 'end' | 'wrong'
  readonly text?: string
  readonly code?: number | null
  readonly path?: string
  readonly status?: number
  readonly accepted?: boolean
}

const running: { stop(): Promise<void> }[] = []

function startPeer(...args: string[]) {
  const child = Bun.spawn(['python3', PROGRAM, ...args], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
  const heard: Heard[] = []
  const peer = {
    heard,
    url: '',
    do: (line: string): void => {
      child.stdin.write(`${line}\n`)
      child.stdin.flush()
    },
    ask(id: unknown, method: string, params: object = {}): void {
      peer.do(`send ${JSON.stringify({ jsonrpc: '2.0', id, method, params })}`)
    },
    next: <T extends Heard>(is: (one: Heard) => boolean, what: string) =>
      until(() => heard.find(is) as T | undefined, { what }),
    /** The reply of this id. */
    async reply(id: unknown) {
      const { text } = await peer.next(
        one => one.event === 'text' && JSON.parse(one.text ?? '{}').id === id,
        `a reply to ${String(id)}`,
      )
      return JSON.parse(text ?? '')
    },
    async stop(): Promise<void> {
      child.kill('SIGKILL')
      await child.exited
    },
  }
  void (async () => {
    let rest = ''
    const decoder = new TextDecoder()
    for await (const chunk of child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line.startsWith('listening on ')) peer.url = line.slice('listening on '.length).replace('http', 'ws')
        else heard.push(JSON.parse(line) as Heard)
      }
    }
  })()
  running.push(peer)
  return peer
}

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({
    env: { ...LOOPBACK, ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: 'the-key-of-every-endpoint' },
    settings: { mcpServers: { echo: stdioFixture('echo') } },
  })
  admin = await hub.setup()
  await online(admin, ['echo'])
}, 120_000)
afterAll(async () => {
  await Promise.all(running.map(peer => peer.stop()))
  await hub?.stop()
}, 120_000)

const statusOf = async (name: string) => (await admin.ok('GET', `${ENDPOINTS}/${name}`)).status
const reaches = (name: string, state: string) =>
  until(async () => (await statusOf(name)).state === state, { what: `${name} ${state}`, timeoutMs: 60_000 })
const count = (heard: readonly Heard[], event: Heard['event']): number =>
  heard.filter(one => one.event === event).length

test('a platform: handshake, list, calls, pings; each end of a connection is followed by another one', async () => {
  const platform = startPeer('platform')
  await until(() => platform.url !== '', { what: 'the platform' })
  const url = `${platform.url}/mcp/?token=a-token-of-the-platform`
  await admin.ok('POST', ENDPOINTS, { name: 'out', direction: 'outbound', url, group: 'echo' })
  const opened = await platform.next(one => one.event === 'open', 'the dial')
  expect(opened.path).toBe('/mcp/?token=a-token-of-the-platform')
  platform.ask(0, 'initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'p' } })
  expect((await platform.reply(0)).result).toMatchObject({
    ...{ protocolVersion: '2024-11-05', serverInfo: { name: 'patchbay' } },
  })
  platform.ask('list', 'tools/list')
  expect((await platform.reply('list')).result.tools.map(({ name }: { name: string }) => name)).toContain('echo')
  platform.ask(7, 'tools/call', { name: 'echo', arguments: { text: 'grüße 灯 💡' } })
  expect((await platform.reply(7)).result.content[0].text).toContain('grüße 灯 💡')
  platform.do('ping hello')
  expect((await platform.next(one => one.event === 'pong', 'a pong')).text).toBe('hello')
  // A message in two fragments, with a ping between them.
  const text = '{"jsonrpc":"2.0","id":8,"method":"ping"}'
  const [first, second] = [text.slice(0, 10), text.slice(10)].map(part => Buffer.from(part))
  platform.do(`raw 010a${first?.toString('hex')}8900`)
  platform.do(`raw 80${second?.length.toString(16).padStart(2, '0')}${second?.toString('hex')}`)
  expect((await platform.reply(8)).result).toEqual({})

  // Any close code, and none at all, is followed by another dial.
  for (const [line, code] of [
    ['close 4004', 4004],
    ['drop', undefined],
  ] as const) {
    const before = count(platform.heard, 'open')
    platform.do(line)
    await until(() => count(platform.heard, 'open') > before, { what: `a dial after ${line}`, timeoutMs: 60_000 })
    await reaches('out', 'connected')
    if (code !== undefined) expect((await statusOf('out')).closeCode).toBe(code)
  }
  platform.do('close 1008')
  await reaches('out', 'refused')
  expect((await statusOf('out')).code).toBe('token_refused')
  expect(count(platform.heard, 'wrong')).toBe(0)
}, 120_000)

test('a device: calls, the newer one takes over, what is wrong ends with its code', async () => {
  const { token } = await admin.ok('POST', ENDPOINTS, { name: 'in', direction: 'inbound', group: '$smart' })
  const socket = `${hub.url.replace('http', 'ws')}/api/assistant/ws?token=`
  const dial = async (secret = token) => {
    const device = startPeer('device', `${socket}${secret}`)
    return { device, opened: await device.next(one => one.event === 'open', 'the head of the answer') }
  }
  const wrong = await dial('pba_not-the-token')
  expect([wrong.opened.status, wrong.opened.accepted]).toEqual([401, false])

  const { device, opened } = await dial()
  expect([opened.status, opened.accepted]).toEqual([101, true])
  device.ask(1, 'tools/list')
  expect((await device.reply(1)).result.tools).toHaveLength(3)
  device.ask(2, 'tools/call', { name: 'call_tool', arguments: { tool: 'echo', arguments: { text: '你好' } } })
  expect((await device.reply(2)).result.content[0].text).toContain('你好')

  const newer = await dial()
  expect((await device.next(one => one.event === 'close', 'the end of the older one')).code).toBe(4001)
  for (const [raw, code] of [
    // A binary frame of one byte, text that is no UTF-8, a frame that is not masked.
    ['828100000000ff', 1003],
    ['818100000000ff', 1007],
    ['810178', 1002],
  ] as const) {
    const { device: other } = await dial()
    other.do(`raw ${raw}`)
    const ended = await other.next(one => one.event === 'close' || one.event === 'end', `an end with ${code}`)
    expect([raw, ended.event === 'end' ? 'cut' : ended.code]).toEqual([raw, code === 1002 ? expect.anything() : code])
  }
  const { device: last } = await dial()
  last.do('close 1000')
  expect((await last.next(one => one.event === 'close', 'the answer to the close frame')).code).toBe(1000)
  await reaches('in', 'waiting')
  expect(count(newer.device.heard, 'wrong') + count(device.heard, 'wrong')).toBe(0)
}, 120_000)

test('half-open: a device that reads and answers nothing any more gives way to the next one', async () => {
  const { token } = await admin.ok('POST', ENDPOINTS, { name: 'half', direction: 'inbound', group: 'echo' })
  const url = `${hub.url.replace('http', 'ws')}/api/assistant/ws?token=${token}`
  const silent = startPeer('device', url)
  await silent.next(one => one.event === 'open', 'the socket')
  silent.do('mute')
  await reaches('half', 'connected')
  const next = startPeer('device', url)
  await next.next(one => one.event === 'open', 'the second socket')
  next.ask(1, 'ping')
  expect((await next.reply(1)).result).toEqual({})
  expect((await statusOf('half')).connects).toBe(2)
}, 120_000)
