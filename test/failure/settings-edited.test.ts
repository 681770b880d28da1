import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, HubDidNotStart, startHub } from '../support/hub.ts'
import { online, statusOf } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const WHO = (who: string) => known('echo', { WHO: who })

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({
    settings: { mcpServers: { kept: WHO('kept'), changed: WHO('old'), dropped: WHO('dropped') } },
  })
  admin = await hub.setup()
  await online(admin, ['kept', 'changed', 'dropped'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

async function names(): Promise<string[]> {
  return (await admin.ok('GET', '/api/servers?sort=name')).items.map((server: { name: string }) => server.name)
}

/** Saves as editors do: a new file, renamed over the old one. */
async function save(text: string): Promise<void> {
  await writeFile(`${hub.settingsFile}.tmp`, text, { mode: 0o600 })
  await rename(`${hub.settingsFile}.tmp`, hub.settingsFile)
}

test('an edit of the settings file is applied while running, and only what changed is restarted', async () => {
  const before = await statusOf(admin, 'kept')
  const old = await statusOf(admin, 'changed')
  await save(JSON.stringify({ mcpServers: { kept: WHO('kept'), changed: WHO('new'), added: WHO('added') } }))
  await until(async () => (await names()).join() === 'added,changed,kept', { what: 'the edit to be applied' })
  await online(admin, ['added', 'changed', 'kept'])
  await until(async () => (await statusOf(admin, 'changed')).pid !== old.pid, { what: 'the changed server to restart' })
  const client = await admin.mcp('/mcp/changed')
  const result = await client.callTool({ name: 'whoami', arguments: {} })
  expect(JSON.stringify(result.content)).toContain('new')
  expect((await statusOf(admin, 'kept')).pid).toBe(before.pid)
}, 120_000)

test('a broken edit keeps the old state, and the log names line and column', async () => {
  const before = await statusOf(admin, 'kept')
  const good = await readFile(hub.settingsFile, 'utf8')
  const mark = hub.log().length
  const broken = '{\n  "mcpServers": {\n    "kept": oops\n  }\n}\n'
  await save(broken)
  const said = await until(() => /line\D{0,4}3/i.test(hub.log().slice(mark)) && hub.log().slice(mark), {
    what: 'a word about the broken file in the log',
  })
  expect(said).toMatch(/col\w*\D{0,4}\d+/i)
  expect(await names()).toEqual(['added', 'changed', 'kept'])
  expect((await statusOf(admin, 'kept')).pid).toBe(before.pid)
  expect(await readFile(hub.settingsFile, 'utf8')).toBe(broken)
  await save(good.replace('"added"', '"later"'))
  await until(async () => (await names()).includes('later'), { what: 'the mended file to be applied' })
}, 120_000)

const UNREADABLE = [
  ['broken', '{ "mcpServers": '],
  ['empty', ''],
  ['no object', '[1, 2]'],
] as const
for (const [what, text] of UNREADABLE.slice(0, extent(1, 3))) {
  test(`a settings file that is ${what} at start ends the start with 78 and stays as it is`, async () => {
    const folder = await makeTemp('broken')
    try {
      const failure = await startHub({ folder, settings: text }).then(
        async started => {
          await started.stop({ keep: true })
          return undefined
        },
        (error: unknown) => error,
      )
      expect(failure).toBeInstanceOf(HubDidNotStart)
      expect((failure as HubDidNotStart).exitCode).toBe(78)
      expect((failure as HubDidNotStart).log).toContain('settings_json')
      expect(await readFile(join(folder, 'mcp_settings.json'), 'utf8')).toBe(text)
    } finally {
      await removeTemp(folder)
    }
  }, 120_000)
}
