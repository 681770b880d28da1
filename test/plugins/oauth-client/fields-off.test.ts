/** Fields of servers that the plugin has, while it is switched off and on again. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'

const SECRET = 'client-secret-of-the-hub-there'
const oauth = { clientId: 'hub', clientSecret: SECRET }
const bring = [{ name: 'key', in: 'env', key: 'SERVICE_KEY', label: 'Key' }]
const remote = { url: 'http://127.0.0.1:9/mcp' }
let hub: Hub
let admin: Client
let ada: Client

beforeAll(async () => {
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers: { filed: { ...remote, oauth: { clientId: 'f' } } } } })
  admin = await hub.setup()
  ada = await hub.user('ada')
  await ada.ok('POST', '/api/servers', { name: 'notes', ...remote, oauth })
  await admin.ok('POST', '/api/servers', { name: 'tool', command: 'true', enabled: false, bring })
}, 90_000)
afterAll(() => hub?.stop())

const set = (enabled: boolean) => admin.ok('PATCH', '/api/admin/plugins/oauth-client', { enabled })
const warnings = ({ status }: { status: { warnings?: { code: string; message: string }[] } }) =>
  (status.warnings ?? []).filter(({ code }) => code === 'plugin_off').map(({ message }) => message)
const fieldErrors = async (method: string, path: string, body: object) => {
  const { status, json } = await ada.request(method, path, body)
  return [status, json.errors?.map((each: { pointer: string; code: string }) => [each.pointer, each.code])]
}

test('while the plugin is off, servers keep its fields with a warning, and no other value is taken', async () => {
  expect(warnings(await ada.ok('GET', '/api/servers/notes'))).toEqual([])
  await set(false)
  const notes = await ada.ok('GET', '/api/servers/notes')
  expect(notes).toMatchObject({ credentials: 'caller', oauth: { clientId: 'hub' } })
  expect(JSON.stringify(notes)).not.toContain(SECRET)
  expect(warnings(notes)).toEqual([
    'Its fields oauth, credentials belong to the plugin oauth-client, which does not run',
  ])
  expect(warnings(await admin.ok('GET', '/api/servers/tool'))).toHaveLength(1)
  expect(warnings(await admin.ok('GET', '/api/servers/filed'))).toHaveLength(1)
  // The whole record as it was read, and a change of another field.
  await ada.ok('PATCH', '/api/servers/notes', { description: 'Notes', oauth: notes.oauth })
  const put = { name: 'notes', ...remote, oauth: notes.oauth, credentials: 'caller' }
  expect((await ada.request('PUT', '/api/servers/notes', put)).status).toBe(200)
  expect(await fieldErrors('PATCH', '/api/servers/notes', { oauth: { clientId: 'other' } })).toEqual([
    400,
    [['#/oauth', 'unknown_field']],
  ])
  expect(await fieldErrors('POST', '/api/servers', { name: 'next', ...remote, oauth: {} })).toEqual([
    400,
    [['#/oauth', 'unknown_field']],
  ])
  const { json } = await ada.request('POST', '/api/servers', { name: 'next', ...remote, credentials: 'caller' })
  expect(json.errors[0].detail).toContain('belongs to the plugin "oauth-client", which does not run')
  const document = await admin.ok('GET', '/api/openapi.json')
  expect(Object.keys(document.components.schemas['Transport.sse'].properties)).toEqual(['url', 'headers', 'tls'])
  // They can be taken away.
  await admin.ok('PATCH', '/api/servers/tool', { bring: null, credentials: null })
  expect(await admin.ok('GET', '/api/servers/tool')).not.toHaveProperty('bring')
})

test('a restart without the plugin leaves the servers of the settings file, and their fields', async () => {
  const plugins = [{ use: 'oauth-client', enabled: false }]
  const settings = { plugins, mcpServers: { filed: { ...remote, oauth: { clientId: 'f' } } } }
  await hub.stop({ keep: true })
  hub = await startHub({ env: LOOPBACK, folder: hub.folder, settings })
  admin = await hub.signIn('admin')
  ada = await hub.signIn('ada')
  const filed = await admin.ok('GET', '/api/servers/filed')
  expect(filed).toMatchObject({ oauth: { clientId: 'f' }, credentials: 'caller' })
  expect(filed.problem).toBeUndefined()
  expect(warnings(filed)).toHaveLength(1)
  expect((await ada.ok('GET', '/api/servers/notes')).oauth.clientId).toBe('hub')
})

test('on again, they are as before, and checked', async () => {
  await set(true)
  const notes = await ada.ok('GET', '/api/servers/notes')
  expect(warnings(notes)).toEqual([])
  expect(notes.oauth.clientId).toBe('hub')
  await admin.ok('PATCH', '/api/servers/tool', { bring })
  const wrong = [{ ...bring[0], key: 'PATH' }]
  const { json } = await admin.request('PATCH', '/api/servers/tool', { bring: wrong })
  expect(json.errors).toMatchObject([{ pointer: '#/bring/0/key', code: 'env_key_invalid' }])
  await ada.ok('POST', '/api/servers', { name: 'next', ...remote, oauth: {} })
})
