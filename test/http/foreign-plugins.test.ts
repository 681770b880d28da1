/** Texts of third-party plugins that hide characters, at every place where people read them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { hiddenIn } from '../support/foreign-names.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { online } from '../support/servers.ts'

const fixture = (name: string) => ({ use: join(import.meta.dir, `fixtures/${name}.ts`), isolate: false })
const MARKED = '⟨U+202E⟩'

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({
    settings: {
      mcpServers: { echo: stdioFixture('echo') },
      plugins: [fixture('foreign-plugin'), fixture('failing-foreign-plugin'), fixture('hidden-id-plugin')],
    },
  })
  admin = await hub.setup()
  await online(admin, ['echo'])
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

test('the list of plugins shows no hidden character', async () => {
  const { items } = await admin.ok('GET', '/api/admin/plugins')
  const of = (name: string) => items.find((item: { name: string }) => item.name.endsWith(name))
  expect(hiddenIn(items)).toEqual([])
  const plugin = of('foreign-texts')
  expect(plugin).toMatchObject({ state: 'running', version: `1.0safe${MARKED}gnp.exe` })
  expect(plugin.configSchema.properties.path.title).toBe(`safe${MARKED}gnp.exe`)
  expect(of('foreign-failure').message).toStartWith(`broken by safe${MARKED}`)
  expect(of('hidden-id')).toMatchObject({ state: 'failed', contributions: [] })
  expect(of('hidden-id').message).toContain(`"sta${MARKED}tus"`)
})

test.each(['/api/monitoring/channel-types', '/api/import/sources', '/api/market/sources', '/api/openapi.json'])(
  'labels of contributions in %s',
  async path => {
    const answer = await admin.request('GET', path)
    expect([answer.status, hiddenIn(answer.json)]).toEqual([200, []])
    if (!path.includes('openapi')) expect(answer.text).toContain(MARKED)
  },
)

test('a note for a client, the reason of a failed list and of a message that was not taken', async () => {
  await admin.ok('POST', '/api/groups', { name: 'daily', members: ['echo'] })
  const config = await admin.ok('GET', '/api/groups/daily/client-config?client=odd')
  expect([config.note.includes(MARKED), hiddenIn(config)]).toEqual([true, []])
  await admin.request('POST', '/api/market/sources/odd/refresh')
  const sources = await admin.ok('GET', '/api/market/sources')
  const { lastError } = sources.items.find(({ id }: { id: string }) => id === 'odd')
  expect([lastError.message.includes(MARKED), hiddenIn(sources)]).toEqual([true, []])
  await admin.ok('POST', '/api/monitoring/channels', { name: 'odd', type: 'odd', config: {} })
  const tried = await admin.request('POST', '/api/monitoring/channels/odd/test')
  expect([tried.text.includes(MARKED), hiddenIn(tried.json)]).toEqual([true, []])
})

test('a label of a number in /metrics', async () => {
  const { text } = await admin.request('GET', '/metrics')
  expect(text).toContain(`name="odd",shop="safe${MARKED}gnp.exe"`)
  expect(hiddenIn(text)).toEqual([])
})

test('in the log and in what the commands print', async () => {
  expect(hub.log()).toContain('hello safe')
  for (const line of hub.log().split('\n')) expect(hiddenIn(line)).toEqual([])
  const env = { ...process.env, PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: admin.token }
  for (const args of [['doctor'], ['connect', '--help'], ['connect', 'odd', 'daily', '--print']]) {
    const { stdout, stderr } = Bun.spawnSync([process.execPath, HUB_MAIN, ...args], { env, cwd: hub.folder })
    expect([args, hiddenIn(`${stdout}${stderr}`)]).toEqual([args, []])
  }
})
