/** Sections of the settings file that stand for blocks of plugins: `auth` and `oauth`. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { readSettings } from '../../../core/config/shape/settings.ts'
import type { JsonObject } from '../../../core/contract/mod.ts'
import { fileEntries } from '../../../core/hub/bundled.ts'
import { FILE_ADDITIONS } from '../../../core/hub/file-additions.ts'
import { type Client, type Hub, startHub } from '../../support/hub.ts'

const SECTIONS = {
  auth: { passwords: 'admins', requireSecondFactor: 'off' },
  oauth: { registration: 'off', clientMetadataUrl: 'https://hub.example/client.json' },
}
let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({
    settings: {
      mcpServers: {},
      ...SECTIONS,
      plugins: [{ use: 'sign-in', config: { providers: [] } }],
    },
  })
  admin = await hub.setup()
}, 60_000)

afterAll(async () => {
  await hub?.stop()
}, 60_000)

const entriesOf = (document: JsonObject) =>
  fileEntries({ document, state: readSettings(document, FILE_ADDITIONS), path: '/x/mcp_settings.json' })

test('each plugin has the members that are its own, and the file keeps them', async () => {
  const { items } = await admin.ok('GET', '/api/admin/plugins')
  const of = (name: string) => items.find((one: { name: string }) => one.name === name)
  const told = (name: string) => [of(name).state, of(name).config, of(name).message]
  expect(told('sign-in')).toEqual(['running', { ...SECTIONS.auth, providers: [] }, undefined])
  expect(told('oauth-server')).toEqual(['running', { registration: 'off' }, undefined])
  expect(told('oauth-client')).toEqual(['running', { clientMetadataUrl: SECTIONS.oauth.clientMetadataUrl }, undefined])
  expect((await admin.ok('GET', '/api/auth/providers')).passwords).toBe('admins')
  await admin.ok('POST', '/api/servers', { name: 'docs', type: 'http', url: 'http://127.0.0.1:1/mcp', enabled: false })
  expect(JSON.parse(await readFile(hub.settingsFile, 'utf8'))).toMatchObject(SECTIONS)
})

test('a section is known, and one that is no object or repeats the block ends the start', () => {
  expect(readSettings({ ...SECTIONS }, FILE_ADDITIONS).warnings).toEqual([])
  expect(() => entriesOf({ auth: [] })).toThrow('"auth" is not an object')
  const twice = { auth: { passwords: 'off' }, plugins: [{ use: 'sign-in', config: { passwords: 'on' } }] }
  expect(() => entriesOf(twice)).toThrow(
    '"passwords" is in the section "auth" and in the block of the plugin "sign-in"',
  )
})

test('a member that no plugin knows is given to the first plugin of the section, which refuses it', async () => {
  expect(entriesOf({ oauth: { colour: 'red', registration: 'any' } })).toEqual([
    { use: 'oauth-server', config: { colour: 'red', registration: 'any' } },
  ])
  const other = await startHub({ settings: { mcpServers: {}, auth: { password: 'off' } } })
  try {
    const { items } = await (await other.setup()).ok('GET', '/api/admin/plugins')
    const { state, message } = items.find((one: { name: string }) => one.name === 'sign-in')
    expect([state, message]).toEqual(['failed', expect.stringContaining('password')])
  } finally {
    await other.stop()
  }
}, 60_000)
