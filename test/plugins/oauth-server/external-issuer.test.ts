/** Official clients sign in at a company's issuer (oidc-provider), whose tokens open the hub. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { type Client, type Hub, startHub, stdioFixture } from '../../support/hub.ts'
import { Issuer, signInAt } from '../../support/issuer.ts'
import { MemoryProvider } from '../../support/oauth.ts'
import { online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { GENERATIONS } from './generations.ts'
import { INITIALIZE, sendMcp } from './site.ts'

let hub: Hub
let admin: Client
let ada: Client
let issuer: Issuer

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  ada = await hub.user('ada')
  const redirect = { redirect_uris: [`${hub.url}/signin/callback`], token_endpoint_auth_method: 'none' }
  issuer = await Issuer.start({
    jwtScopes: 'mcp:tools mcp:read',
    clients: [{ client_id: 'hub', ...redirect, grant_types: ['authorization_code'], response_types: ['code'] }],
  })
  const company = {
    id: 'company',
    kind: 'oidc',
    label: 'Company',
    issuer: issuer.url,
    clientId: 'hub',
    provision: 'link',
  }
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { config: { providers: [{ ...company, scopes: ['openid'] }] } })
  await configure('link')
  await admin.ok('POST', '/api/servers', { name: 'echo', visibility: 'public', ...stdioFixture('echo') })
  await online(admin, ['echo'])
  await ada.ok('POST', '/api/groups', { name: 'work', members: [{ server: 'admin~echo' }] })
}, 60_000)

afterAll(async () => {
  await hub?.stop()
  await issuer?.stop()
}, 60_000)

function configure(provision: 'link' | 'create'): Promise<unknown> {
  const issuers = [{ issuer: issuer.url, algorithms: ['RS256'], provision }]
  return admin.ok('PATCH', '/api/admin/plugins/oauth-server', { config: { issuers } })
}

const signedInAs = (person: string) => new MemoryProvider(url => signInAt(url.href, person))

/** Links an account of the issuer with a user, as the console does it. */
async function link(person: Client, account: string): Promise<void> {
  const key = randomBytes(32).toString('base64url')
  const keyHash = createHash('sha256').update(key).digest('base64url')
  const begun = await person.ok('POST', '/api/auth/providers/company/start', { keyHash, link: true })
  const url = await signInAt(begun.url, account)
  await person.ok('POST', '/api/auth/providers/company/finish', { url, key })
}

describe.each(['1', '2'])('generation %s', generation => {
  const connect = GENERATIONS[generation] as (typeof GENERATIONS)[string]

  test('signs in to a group and to all servers as the user who has linked the account', async () => {
    const account = `ada-${generation}`
    await link(ada, account)
    for (const path of ['/mcp/work', '/mcp', '/mcp/@admin/echo']) {
      const provider = signedInAs(account)
      const client = await connect(`${hub.url}${path}`, provider)
      expect(provider.visited[0]?.origin).toBe(issuer.url)
      if (path !== '/mcp')
        expect(await client.callTool({ name: 'echo', arguments: { text: 'hello' } })).toMatchObject({ content: [{}] })
      await client.close()
      const { access_token: token } = provider.kept.tokens
      expect((await sendMcp(hub, path, token, INITIALIZE)).status).toBe(200)
      // The token is for this address alone.
      const elsewhere = path === '/mcp' ? '/mcp/work' : '/mcp'
      expect((await sendMcp(hub, elsewhere, token, INITIALIZE)).status).toBe(401)
    }
  }, 60_000)
})

test('an account that nobody has linked is refused, and one that is unlinked ends', async () => {
  const tokens = async (person: string) => {
    const provider = signedInAs(person)
    const failed = await GENERATIONS['1']?.(`${hub.url}/mcp/work`, provider).then(client => client.close())
    return { failed, token: provider.kept.tokens.access_token as string }
  }
  await expect(tokens('mallory')).rejects.toThrow('No user of this hub has linked this account')
  const eve = await hub.user('eve')
  await eve.ok('POST', '/api/groups', { name: 'work', members: [{ server: 'admin~echo' }] })
  await link(eve, 'eve-c')
  const { token } = await tokens('eve-c')
  expect((await sendMcp(hub, '/mcp/work', token, INITIALIZE)).status).toBe(200)
  const [identity] = (await eve.ok('GET', '/api/auth/identities')).items
  await eve.ok('DELETE', `/api/auth/identities/${identity.id}`)
  const refused = await sendMcp(hub, '/mcp/work', token, INITIALIZE)
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('identity_unknown')])
  // Own tokens of the hub are none any more.
  await until(async () => (await fetch(`${hub.url}/authorize`)).status === 404)
})

test('a person who is not known becomes a user, with the rights of one', async () => {
  await configure('create')
  const provider = signedInAs('newcomer')
  const client = await GENERATIONS['2']?.(`${hub.url}/mcp/@admin/echo`, provider)
  expect(await client?.callTool({ name: 'echo', arguments: { text: 'hello' } })).toMatchObject({ content: [{}] })
  await client?.close()
  const { items } = await admin.ok('GET', '/api/admin/users')
  expect(items.filter(({ role }: { role: string }) => role === 'admin')).toHaveLength(1)
  const actions = (await admin.ok('GET', '/api/admin/audit?limit=50')).items.map(
    (one: { action: string }) => one.action,
  )
  expect(actions).toContain('sign-in.identity_linked')
})
