/** Quotas of access keys hold for what is made with a key: other keys, rotated ones, and endpoints of assistants. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { sharedFixture } from '../../mcp/shared-fixture.ts'
import type { Client, Hub } from '../../support/hub.ts'
import { startOnline } from '../../support/online-hub.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'
import { Assistant } from './assistant.ts'

setDefaultTimeout(120_000)

const settings = { mcpServers: { echo: sharedFixture('echo') }, groups: [{ name: 'work', servers: ['echo'] }] }
const env = { ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: crypto.randomUUID() }
let hub: Hub
let admin: Client

beforeAll(async () => {
  ;({ hub, admin } = await startOnline({ settings, env }))
  await admin.ok('PATCH', '/api/servers/echo', { visibility: 'public' })
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

interface Key {
  readonly id: string
  readonly secret: string
}

const bearer = ({ secret }: Key) => ({ authorization: `Bearer ${secret}` })
const SCOPES = ['api', 'mcp']

/** A user with a key that has a quota. */
async function withQuota(name: string, quota: object): Promise<{ readonly user: Client; readonly key: Key }> {
  const user = await hub.user(name)
  const key = await user.ok('POST', '/api/keys', { label: 'agent', scopes: SCOPES })
  await user.ok('PUT', `/api/keys/${key.id}/quota`, { quota })
  return { user, key }
}

async function makeKey(user: Client, by: Key, label = 'child'): Promise<Key> {
  const made = await user.request('POST', '/api/keys', { label, scopes: SCOPES }, bearer(by))
  expect(made.status).toBe(201)
  return made.json
}

async function overRest(user: Client, key: Key): Promise<string> {
  const body = { arguments: { text: 'x' } }
  const { status, json } = await user.request('POST', '/api/servers/admin~echo/tools/echo/call', body, bearer(key))
  return status === 200 ? 'passed' : `${json.code} ${json.of}`
}

async function overMcp({ secret }: Key): Promise<string> {
  const client = new RawModern(hub, '/mcp/@admin/echo', secret)
  const { result, error } = await client.call('tools/call', { name: 'echo', arguments: { text: 'x' } })
  return result ? 'passed' : `${error?.data?.code} ${error?.data?.of}`
}

test('calls of a key count for the keys that made it, also when these are deleted', async () => {
  const { user, key } = await withQuota('ann', { perDay: 4 })
  const child = await makeKey(user, key)
  const grandchild = await makeKey(user, child)
  expect([await overRest(user, key), await overRest(user, child), await overMcp(grandchild)]).toEqual([
    'passed',
    'passed',
    'passed',
  ])
  expect((await user.ok('GET', `/api/keys/${key.id}/quota`)).used.perDay).toBe(3)
  await user.request('DELETE', `/api/keys/${key.id}`, undefined, bearer(child))
  await user.request('DELETE', `/api/keys/${child.id}`, undefined, bearer(grandchild))
  expect([await overMcp(grandchild), await overMcp(grandchild)]).toEqual(['passed', 'quota_day key'])
  // Another one that it makes is no way out, and its user sees why.
  expect(await overRest(user, await makeKey(user, grandchild))).toBe('quota_day key')
  const { quota, behind } = await user.ok('GET', `/api/keys/${grandchild.id}/quota`)
  expect([quota, behind.length, behind[0].id, behind[0].quota, behind[0].label]).toEqual([
    ...[null, 1, key.id],
    ...[{ perDay: 4 }, undefined],
  ])
  await user.ok('PUT', `/api/keys/${key.id}/quota`, { quota: { perDay: 5 } })
  expect([await overMcp(grandchild), await overMcp(grandchild)]).toEqual(['passed', 'quota_day key'])
})

test('a quota that is set later counts what keys made with the key have used', async () => {
  const user = await hub.user('late')
  const key = await user.ok('POST', '/api/keys', { label: 'agent', scopes: SCOPES })
  const child = await makeKey(user, key)
  expect([await overRest(user, key), await overMcp(child)]).toEqual(['passed', 'passed'])
  const { used } = await user.ok('PUT', `/api/keys/${key.id}/quota`, { quota: { perDay: 2 } })
  expect([used.perDay, await overMcp(child)]).toEqual([2, 'quota_day key'])
})

test('a new secret keeps the quota, whether the key is rotated, replaced, or another one by its side', async () => {
  const { user, key } = await withQuota('rota', { perDay: 1 })
  const other: Key = await user.ok('POST', '/api/keys', { label: 'other', scopes: SCOPES })
  expect(await overRest(user, key)).toBe('passed')
  const rotate = async (id: string, body: object, by: Key): Promise<Key> =>
    (await user.request('POST', `/api/keys/${id}/rotate`, body, bearer(by))).json
  const rotated = await rotate(key.id, {}, key)
  expect([rotated.id === key.id, await overRest(user, rotated)]).toEqual([true, 'quota_day key'])
  const replaced = await rotate(key.id, { overlapSeconds: 60 }, rotated)
  expect([replaced.id === key.id, await overMcp(replaced)]).toEqual([false, 'quota_day key'])
  const taken = await rotate(other.id, {}, replaced)
  expect([taken.id === other.id, await overMcp(taken)]).toEqual([true, 'quota_day key'])
  // With a sign-in a key stays free of those beside it.
  const own = await user.ok('POST', '/api/keys', { label: 'own', scopes: SCOPES })
  expect(await overMcp(await user.ok('POST', `/api/keys/${own.id}/rotate`))).toBe('passed')
})

test('calls by REST at a group count for the key, whose scope api opens all of them', async () => {
  const { user, key } = await withQuota('grouped', { perDay: 1 })
  await admin.ok('PATCH', '/api/groups/work', { visibility: 'public' })
  const call = () => user.request('POST', '/api/groups/admin~work/tools/echo', { text: 'x' }, bearer(key))
  const answers = [await call(), await call()]
  expect(answers.map(({ status, json }) => [status, json.code, json.of])).toEqual([
    [200, undefined, undefined],
    [429, 'quota_day', 'key'],
  ])
})

test('an endpoint of an assistant that a key makes, or gets the token of, counts for the key', async () => {
  const { user, key } = await withQuota('voice', { perDay: 2 })
  const endpoint = { name: 'kitchen', direction: 'inbound', group: 'admin~echo' }
  const made = await user.request('POST', '/api/assistant/endpoints', endpoint, bearer(key))
  expect(made.status).toBe(201)
  const first = await Assistant.open(hub.url, made.json.token)
  expect((await first.call('echo', { text: 'one' })).error).toBeUndefined()
  await user.ok('DELETE', `/api/keys/${key.id}`)
  await user.ok('GET', `/api/keys/${key.id}/quota`)
  expect((await first.call('echo', { text: 'two' })).error).toBeUndefined()
  expect(JSON.stringify(await first.call('echo', { text: 'three' }))).toContain('calls a day of an access key')
  first.close()
  // With a token that the user asks for, the key has no part in it any more.
  const { token } = await user.ok('POST', '/api/assistant/endpoints/kitchen/token')
  const second = await Assistant.open(hub.url, token)
  expect(JSON.stringify(await second.call('echo', { text: 'four' }))).toContain('four')
  second.close()
  const thief = await user.ok('POST', '/api/keys', { label: 'thief', scopes: SCOPES })
  await user.ok('PUT', `/api/keys/${thief.id}/quota`, { quota: { perDay: 0 } })
  const stolen = await user.request('POST', '/api/assistant/endpoints/kitchen/token', {}, bearer(thief))
  const third = await Assistant.open(hub.url, stolen.json.token)
  expect(JSON.stringify(await third.call('echo', { text: 'five' }))).toContain('calls a day of an access key')
  third.close()
})

test('no key sets a quota, nor changes the plugin that holds it', async () => {
  const key = await admin.ok('POST', '/api/keys', { label: 'root', scopes: ['api'] })
  await admin.ok('PUT', `/api/keys/${key.id}/quota`, { quota: { perDay: 0 } })
  const paths = ['keys/x', 'servers/echo', 'groups/work', 'admin/users/admin', 'grants/any'].map(path => [
    ...['PUT', `/api/${path.replace('keys/x', `keys/${key.id}`)}/quota`],
  ])
  const all = [...paths, ['PATCH', '/api/admin/plugins/quotas'], ['DELETE', '/api/admin/plugins/quotas']]
  for (const [method = '', path = ''] of all) {
    const body = method === 'PUT' ? { quota: null } : method === 'PATCH' ? { enabled: false } : undefined
    const { status, json } = await admin.request(method, path, body, bearer(key))
    expect([path, status, json.code]).toEqual([path, 403, 'insufficient_scope'])
  }
  expect((await admin.ok('GET', `/api/keys/${key.id}/quota`)).quota).toEqual({ perDay: 0 })
})

test('a key descends from at most 50 others', async () => {
  const user = await hub.user('deep')
  user.patient = true
  let key: Key = await user.ok('POST', '/api/keys', { label: 'first', scopes: ['api'] })
  for (let depth = 1; depth <= 50; depth += 1) {
    const made = await user.request('POST', '/api/keys', { label: `${depth}`, scopes: ['api'] }, bearer(key))
    expect([depth, made.status]).toEqual([depth, 201])
    await user.ok('DELETE', `/api/keys/${key.id}`)
    key = made.json
  }
  const tooDeep = await user.request('POST', '/api/keys', { label: 'more', scopes: ['api'] }, bearer(key))
  expect([tooDeep.status, tooDeep.json.code]).toEqual([409, 'quota_keys'])
})
