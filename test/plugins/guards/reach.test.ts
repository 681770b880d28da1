/** The addresses that webhooks reach: those of their owner, who may become an administrator, and be one no more. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Client, Hub } from '../../support/hub.ts'
import { startOnline } from '../../support/online-hub.ts'
import { startReceiver } from '../../support/receiver.ts'
import { callText } from '../../support/servers.ts'

setDefaultTimeout(60_000)

const mirror = { command: process.execPath, args: [join(import.meta.dir, 'fixtures/mirror.ts')], session: 'shared' }
const FAILED = 'could not be looked at by its webhook'
const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
// Its address is loopback, which administrators reach and others do not.
const receiver = startReceiver(() => Response.json({ action: 'pass' }))
const rule = { id: 'hook', on: 'arguments', webhook: { url: receiver.url, secret, timeoutMs: 2_000 }, then: 'refuse' }

let hub: Hub
let admin: Client

beforeAll(async () => {
  ;({ hub, admin } = await startOnline({
    settings: { mcpServers: { plain: { ...mirror, visibility: 'public' }, stated: { ...mirror, guards: [rule] } } },
  }))
}, 120_000)
afterAll(async () => {
  await receiver.stop()
  await hub?.stop()
}, 120_000)

test('a user who becomes an administrator raises no webhook made before, and one who is no administrator any more keeps none raised', async () => {
  const eve = await hub.user('eve')
  await eve.ok('POST', '/api/groups', { name: 'hers', members: ['admin~plain'] })
  const answered = async (client: Client) =>
    callText(await client.mcp('/mcp/hers'), 'mirror', { text: 'x' }).catch(String)
  const save = (client: Client, path = '/api/groups/hers') => client.ok('PUT', `${path}/guards`, { rules: [rule] })
  await save(eve)
  expect(await answered(eve)).toContain(FAILED)
  // An administrator who saves the rules of an ordinary user gives them no more.
  await save(admin, '/api/groups/eve~hers')
  expect(await answered(eve)).toContain(FAILED)
  await admin.ok('PATCH', '/api/admin/users/eve', { role: 'admin' })
  const raised = await hub.signIn('eve')
  expect(await answered(raised)).toContain(FAILED)
  expect(receiver.received).toEqual([])
  await save(raised)
  expect(await answered(raised)).toBe('x')
  // The rules are as they were after the plugin has read them again.
  for (const enabled of [false, true]) await admin.ok('PATCH', '/api/admin/plugins/guards', { enabled })
  expect(await answered(raised)).toBe('x')
  const asked = receiver.received.length
  await admin.ok('PATCH', '/api/admin/users/eve', { role: 'user' })
  expect(await answered(await hub.signIn('eve'))).toContain(FAILED)
  expect(receiver.received.length).toBe(asked)
})

test('webhooks of the settings file reach what the administrator reaches who owns the server', async () => {
  expect(await callText(await admin.mcp('/mcp/stated'), 'mirror', { text: 'x' })).toBe('x')
})
