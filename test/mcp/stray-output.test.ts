import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ProtocolErrors } from '../../core/connections/worker/links/protocol-errors.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const KNOWN = { era: 'legacy', session: 'shared' }
const FORMS = ['text', 'json', 'mixed']
const SECRET = 'canary-of-a-secret-0123456789'

let hub: Hub
let admin: Client

interface Warning {
  readonly code: string
  readonly message: string
}

async function warningsOf(name: string): Promise<readonly Warning[]> {
  const { warnings = [] } = (await statusOf(admin, name)) as { readonly warnings?: readonly Warning[] }
  return warnings.filter(({ code }) => code === 'stray_output')
}

beforeAll(async () => {
  const mcpServers: Record<string, object> = {}
  for (const form of FORMS)
    mcpServers[form] = { ...stdioFixture('printing', { BANNER_FORM: form, BANNER: '300' }), ...KNOWN }
  mcpServers.quiet = { ...stdioFixture('printing'), ...KNOWN }
  mcpServers.asked = { ...stdioFixture('printing', { BANNER: '150' }), session: 'per-session' }
  hub = await startHub({ settings: { mcpServers } })
  admin = await hub.setup()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

test.each(FORMS)('a program may print a banner and hundreds of lines before an answer: %s', async form => {
  await online(admin, [form])
  const client = await admin.mcp(`/mcp/${form}`)
  const pid = await callText(client, 'pid')
  for (let call = 0; call < 3; call += 1) expect(await callText(client, 'print')).toBe(pid)
  expect(await callText(client, 'glue')).toBe(pid)
  expect(await callText(client, 'paint')).toBe(pid)
  expect(await callText(client, 'pid')).toBe(pid)
  expect((await statusOf(admin, form)).reason).toBeUndefined()
})

test('one warning names the first line and says what to tell the author', async () => {
  await online(admin, ['text', 'quiet'])
  const warnings = await warningsOf('text')
  expect(warnings).toHaveLength(1)
  expect(warnings[0]!.message).toContain('Loading module 0')
  expect(warnings[0]!.message).toContain('standard error')
  expect(await warningsOf('quiet')).toEqual([])
  const client = await admin.mcp('/mcp/quiet')
  await callText(client, 'print', { count: 1 })
  expect(await until(async () => (await warningsOf('quiet'))[0]?.message)).toContain('Loading module 0')
})

test('a program that is probed and started for a session may print a banner too', async () => {
  await online(admin, ['asked'])
  const client = await admin.mcp('/mcp/asked')
  const pid = await callText(client, 'print')
  expect(await callText(client, 'pid')).toBe(pid)
})

test('a program that prints all day stays connected, and its pings are answered', async () => {
  const body = { name: 'daily', ...stdioFixture('printing'), ...KNOWN }
  await admin.ok('POST', '/api/servers', { ...body, healthCheck: { enabled: true, interval: 1_000 } })
  await online(admin, ['daily'])
  const client = await admin.mcp('/mcp/daily')
  const pid = await callText(client, 'rest')
  const { lastCheck } = (await admin.ok('GET', '/api/servers/daily')).status.health
  await until(
    async () => {
      const { health } = (await admin.ok('GET', '/api/servers/daily')).status
      return health.lastCheck?.at !== lastCheck?.at && health.state === 'healthy'
    },
    { timeoutMs: 10_000 },
  )
  expect(await callText(client, 'pid')).toBe(pid)
})

test('a secret of the server in its first line is redacted in the warning', async () => {
  const env = { BANNER_SECRET: SECRET }
  const args = ['-e', `console.log("x".repeat(190) + process.env.BANNER_SECRET); await import(process.argv[1])`]
  const { args: [path] = [] } = stdioFixture('printing') as { args?: string[] }
  await admin.ok('POST', '/api/servers', {
    ...{ name: 'leaky', command: process.execPath, args: [...args, path], env },
    ...KNOWN,
  })
  await online(admin, ['leaky'])
  const [warning] = await warningsOf('leaky')
  expect(warning!.message).toContain('xxxx')
  expect(warning!.message).not.toContain(SECRET.slice(0, 6))
})

test('stray text ends a connection only above 1 MB a second', () => {
  let nowMs = 0
  const ends: string[] = []
  const ignore = (): void => undefined
  const errors = new ProtocolErrors(
    { debug: ignore, malformed: ignore, stray: ignore, end: message => ends.push(message) },
    () => nowMs,
  )
  const say = (bytesPerSecond: number, seconds: number): void => {
    for (let at = 0; at < seconds * 10; at += 1) {
      errors.stray('a line that is not JSON', 'x'.repeat(bytesPerSecond / 10))
      nowMs += 100
    }
  }
  say(900_000, 60)
  expect(ends).toEqual([])
  say(1_500_000, 9)
  expect(ends).toEqual([expect.stringContaining('more than 1 MB a second')])
  errors.flush()
})
